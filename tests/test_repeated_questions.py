"Who repeats the question has not answered it; what stands behind it counts."

import pytest
from tiers import KINDS, slow_but

from cogbias.design import paradigm, paradigms
from cogbias.participants import answer_from_text


@pytest.mark.parametrize("name", slow_but(KINDS, paradigms("*")))
def test_a_question_that_is_sent_back_is_no_answer(name):
    rows = paradigm(name).items().drop_duplicates("prompt").head(40).to_dict("records")
    for row in rows:
        whole = f"{row['system'] or ''}\n\n{row['prompt']}"
        for echo in (whole, row["prompt"], f"  {row['prompt']}\n{row['prompt']}\n"):
            answer = answer_from_text(row, echo)
            assert answer.status == "invalid_format" and answer.choice is None, echo
            label = row["options"][0]["label"] if row["options"] else "7"
            behind = answer_from_text(row, f"{echo}\n\n{label}")
            assert behind.choice == label or row["answer"] == "number", echo
