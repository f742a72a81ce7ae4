"""A lecture's interview questions in a notebook, answers folded."""

from course_lib.interview import Question, load, render


class Questions:
    """Shows as Markdown with folded answers; as plain text, where nothing renders, the prompts alone."""

    def __init__(self, questions: tuple[Question, ...]):
        self.questions = questions

    def _repr_markdown_(self) -> str:
        return render(self.questions)

    def __repr__(self) -> str:
        return "\n".join(f"{n}. ({q.level}) {q.prompt}" for n, q in enumerate(self.questions, start=1))


def questions(lecture: str) -> Questions:
    """The interview questions of `lecture`, such as "01_backprop". Raises ValueError for a lecture without any."""
    return Questions(load(lecture))
