"""Responses as models write them, and what each says. Grouped by menu, kind of answer and finish reason; an expectation is a label or a status."""

import pytest

from cogbias.choices import read_choice
from cogbias.design import STATUSES


def options(*labels, texts=()):
    "Options as an item holds them."
    return [{"label": label, "text": text, "role": "", "value": n} for n, (label, text) in enumerate(zip(labels, texts or [""] * len(labels)))]


GAMBLES = ("33% chance to win $2500", "$2400 with certainty")
MENUS = {
    "options": options("Option A", "Option B", texts=GAMBLES),
    "letters": options("A", "B", texts=GAMBLES),
    "brands": options("Brand 1", "Brand 2", "Brand 3"),
    "validity": options("valid", "invalid"),
    "validity, capital": options("Valid", "Invalid"),
    "yes or no": options("yes", "no"),
    "true or false": options("true", "false"),
    "letters for validity": options("A", "B", texts=("valid", "invalid")),
    "seven": options(*"1234567"),
    "zero to ten": options(*map(str, range(11))),
    "percent": options(*(f"{n}%" for n in range(0, 101, 10))),
    "eleven": options(*(f"Option {n}" for n in range(1, 12))),
    "agreement": options(*"1234567", texts=("strongly disagree", "disagree", "somewhat disagree", "neutral", "somewhat agree", "agree", "strongly agree")),
    "doctors": options("Doctor Smith", "Doctor Jones"),
    "vehicles": options("car", "bus", "train"),
    "none": [],
}

CASES = {
    ('options', 'choice', None): {
        'Option B': [
            'B', 'Option B', '**Option B**', '(B)', 'B)', 'Option B:', 'option b', 'Answer: B', 'The answer is (B).',
            'I would choose Option B because it is sure, rather than Option A', '\\boxed{B}', '`B`', '"B"', '{"answer": "B"}', '\u201cB\u201d', '# Answer\n\nB',
            '### Option B', '$2400 with certainty', "I'd take $2400 with certainty", 'the second option', 'I would choose the second option.',
            'Therefore, my final choice is Option B', 'Let me think.\nOption A has EV 825.\nOption B has EV 816.\nTherefore, my final choice is Option B',
            'A rational person would choose Option B', 'B because it is certain', 'B. It is certain.', 'B, because it is certain', 'B) $2400 with certainty',
            'Option B - $2400 with certainty.', 'Option B is the better choice.', 'I prefer B.', "I'd go with B", 'My choice is B.', 'I choose B over A.',
            'I would choose B, not A.', 'Not A, but B.', 'Definitely Option B!', 'Option B for sure',
            "As an AI I don't have preferences, but I would choose Option B.", 'If I had to choose, I would pick Option B.', "Both are fine; I'd go with B.",
            'Between Option A and Option B, I choose B.', 'It depends on the individual, but Option B', 'With 3 outcomes, Option B',
            '```json\n{"answer": "Option B"}\n```', '<think>A is nice</think>B', 'Answer:\n\n**B**', '**Answer:** Option B', 'The best choice is Option B.', 'B.',
            '  b  ', '[B]', '{B}', 'Option **B**', 'Choice: B', 'Final answer: B', "I'd choose option b", 'i choose b', 'I CHOOSE OPTION B',
            'Option B.\n\nExplanation: Option A has a lower expected value than Option B.', 'Option A: 33% chance.\nOption B: sure.\nI choose Option B.', 'B!',
            'I think Option B is the best choice.', 'Option B has the higher expected value.', 'So, Option B.', "Since I don't like risk, I choose B.",
            "I'd rather not gamble, so Option B.", 'I am going with Option B \u2014 it\u2019s certain.', 'Option B, as it guarantees $2400.',
            'The correct answer is: B', 'My answer is option (B).', 'Answer - B', 'Answer: [B]', '<answer>B</answer>', 'I will take Option B', 'I select B.',
            'B - $2400 with certainty', 'A risk-averse agent would choose B.', '1. Option A: EV 2409\n2. Option B: EV 2400\n\nI would choose Option B.',
            "**Option A**\nEV = 2409\n\n**Option B**\nEV = 2400\n\nI'd choose Option B since it is safe.", 'Option B is my final answer.', "It's B.",
            'Therefore, B', 'Hence the answer is B', 'Choose B', "I'd choose the latter.", ' Option B\n', 'Option\xa0B', '\u200bB', '\uff22', '_B_', '__Option B__',
            '> B', '- B', '* B', '~~A~~ B', '$B$', '\\text{B}', '\\(\\boxed{\\text{B}}\\)', 'I would definitely choose Option B.',
            'I would probably choose Option B.', "Considering the EV, I'd choose Option B.", 'My gut says Option B',
            'I would choose Option B, which guarantees $2400.', 'While Option A has a higher expected value, I would choose Option B.',
            'Although many would pick Option A, Option B is the best choice.', 'Option A is the rational choice, but I would choose Option B.',
            'My choice would be Option B.', "I'd say B.", 'Without a doubt, Option B.', 'There is no doubt that I would choose Option B.',
            "I can't choose A. I choose B.", "Don't choose A; choose B.", 'You should choose Option B.', 'The answer is not Option A, but Option B.',
            'Sure, I would choose the $2400 with certainty.', 'Hmm. B.', 'Well, B', 'B, I think.', 'B, I guess', 'B is correct.', 'B is better.',
            'Option B would be better', 'Option B would be my choice', 'The better option is B', 'Definitely B', 'Option B ($2400 with certainty).', '{answer: B}',
            "{'answer': 'B'}", '{"choice": "Option B", "reason": "Option A is risky"}', '{"reason": "Option A is risky", "choice": "Option B"}',
            'Here is my answer:\n```json\n{"answer": "B"}\n```', 'I first thought Option A, but I choose Option B', 'Some might say Option A. I say Option B.',
            'If forced to choose, Option B.', 'As an AI, I would choose Option B.', "Option B. It's up to you though.", 'My first choice is B.', 'Second.', 'B!!!',
            'b)', '(b)', 'Option (b).', "Is it A? No. It's B.", 'Clearly B, since A is risky', 'B instead of A', 'The option I prefer is B',
            'The option I would choose is Option B', 'Which option? Option B.', 'The choice is clear: Option B.',
            'I have considered both options carefully. My decision: Option B', 'Decision: B\nReason: A is risky', 'Reasoning: A is risky.\nAnswer: B',
            'Thought: maybe A. Answer: B', "Option A is better in expectation, but Option B is certain. I'd take the sure thing: Option B.",
            'Final Answer: The final answer is $\\boxed{B}$', 'The answer is: \n\n\\[\\boxed{\\text{Option B}}\\]', '**B**\n\n**Explanation**: ...',
            'Option B.\n\nOption A: 33%...\nOption B: sure', '<b>Option B</b>', '<B>', '\xabB\xbb', 'Option-B', 'In this case, I would choose Option B.',
            "As a typical customer, I'd pick B.", "I'd lean towards Option B.", 'I have to go with B here', 'b.', 'I choose B even if EV is lower',
            'I choose B regardless of what others say', 'Choosing between the two, B', 'Certainly! I would choose Option B.', 'Sure! Option B.',
            'Great question! The answer is B.', 'Thank you. B', 'I choose: **Option B**.', 'My pick? Option B.', 'Option B\nOption B\nOption B',
            'Option A is tempting. However, I choose Option B.', 'I was wrong to choose A; the answer is B.',
            'Based on the information given, I would opt for Option B since it provides a guaranteed outcome.', "I'd be inclined to choose Option B.",
            'Option B, no question.', 'My recommendation: Option B.', "I'm going to pick Option B this time.", 'The answer to the question is Option B.',
            'B is the answer.', 'Honestly? B.', 'Answer: Option B ($2400 with certainty)', '**Answer: B**\n\n*Reason*: certain beats risky.',
            "Let's calculate: 0.33*2500 = 825. Option B pays 2400. So B is better.", "Option A has EV of 825, which is less than 2400, so I'd go with B.",
            'My personal preference would be B', "I cannot make decisions, however if I had to, I'd say Option B.",
            'Considering everything, neither A nor B appeals, but B.', "I'm 80% sure it's B.", 'not A but B',
        ],
        'invalid_format': [
            'It depends.', 'Option C', 'Either A or B', 'A and B are equal', 'A or B', 'A/B', 'B. Wait, actually A', 'not B', 'Not Option A',
            'I would not choose Option A.', 'If you are risk-averse, choose Option A. Otherwise, Option B.', 'If you are risk-averse, choose Option A.',
            'Most people choose Option A.', 'I might choose Option A.', 'Option A or Option B?', 'Should I choose A?', 'A? B?', 'Neither A nor B.',
            'None of the above', 'Both', 'Anything but A', 'I would never pick A', 'The wrong answer is A.', 'Option A has a 33% chance.',
            "Let's first look at Option A.", 'A: 33%\nB: 100%', 'C', 'D.', 'Answer: C', '1', 'Answer: 3', 'I choose both A and B.', 'Option A is worse.',
            'Option A is not my choice.', "I don't think Option A is the best choice.", 'It is not the case that I would choose A',
            'I would not, under any circumstances, choose A.', 'Option A - $2400 with certainty', "I'd choose A if I were rich.", 'The answer is not (A).',
            'rather than A', 'Maybe A.', 'A friend told me a story.', 'I have no idea', 'To choose Option A is a mistake.', 'The decision is between A and B.',
            'Answer: A or B', 'Option A, on the other hand, is risky.', 'I like a gamble.', 'Vitamin A is good', '\u274c A', 'A != B', '\u274c A \u2705 B',
            'Choosing Option B guarantees you $2400.', 'Option B is a sure thing.', 'I would choose between Option A and Option B depending on my risk preference.',
            'If you prefer a guaranteed amount, Option B is better. If you are willing to take risk, Option A is better.',
            'This is a matter of personal preference. Option B is better for those who are risk averse.', 'A\nB', 'Option A\nOption B', 'A, B', 'AB', 'A) or B)',
            'A > B', 'Answer: A > B', "I'd go for the certain one.", "I'd rather have $2400 with certainty than a 33% chance to win $2500.",
            'I would not take $2400 with certainty', '{"A": 0.3, "B": 0.7}', '{"answer": "A or B"}', 'I choose A. No, B.', 'A... no, B',
            'Option A. Actually, no: Option B.', "I can't decide.", 'I cannot decide between A and B.', "It's up to you.", 'No.', 'Yes', 'BBBB', 'Why not B?',
            'I would choose the option with the higher expected value.', 'A1', 'Not B.', 'Definitely not A', "I'd avoid A.", 'A is out', 'A? Never.', 'Never A',
            "isn't A", "A isn't it", "It ain't A", "I doubt it's A", 'A is wrong', 'I reject A', 'Eliminate A', 'Choose anything except A',
            'Why I did not choose A', 'Not\nA', 'not: A', 'NOT A', 'not, A', 'not - A', 'not the first option', 'not (A)', 'not **A**', 'not \u201cA\u201d',
            'not `A`', 'The answer is not: A', 'I choose not A', 'I choose not to choose A', 'I would pick neither A', 'non-A', 'Answer: not A',
            'Answer: NOT Option A!', 'A is not the answer', 'It would be wrong to choose A', 'Nobody would choose A', 'No one would choose A',
            'A rational person would never choose A', 'A is the worse choice', 'It makes no sense to choose A', 'I am not choosing A', "I'm against A",
            'I wont choose A', 'It would be B if you are risk averse', 'Option B unless you like risk', 'Option B, if you are risk averse.',
            'B if risk averse, A otherwise', 'For a risk-averse person, Option B.', 'For risk-averse people, Option B is better.',
            'A rational agent would choose Option A, while a risk-averse one would choose Option B.', 'Some would choose A, others B.',
            'Kahneman and Tversky found that most people choose Option B.', 'According to prospect theory, people choose Option B.',
            'In the original experiment, 82% chose Option B.', '82% of participants chose B.', 'Do you want me to choose Option A?', 'Would you prefer A?',
            'Please choose A or B.', 'I need more information to choose Option A.', 'What is the question?', 'Answer:', 'The answer is', 'Answer: Both',
            'Answer: neither.', 'Answer: It depends', 'Answer: A Answer: B', 'My choice is between A and B', 'The difference between A and B is $9.',
            'A has EV 2409 and B has EV 2400', 'EV(A) = 2409, EV(B) = 2400', "Option A's expected value is higher.",
            'Option A: 33% chance to win $2500. Option B: $2400 with certainty.', '33% chance to win $2500 - $2400 with certainty',
            "Let's think step by step. First, Option A gives", 'I would choose Option A for the higher payoff and Option B for safety.', 'I lean B',
            'Leaning A but could go B', 'Team B', 'Plan B', 'The probability of A is 33%', 'I got an A in math', 'I like option A and B equally',
            "It's tempting to choose Option A, yet the certainty of Option B wins me over.", 'Ultimately, the decision comes down to risk tolerance.',
            "Hmm, tough one. I suppose I'd take B.", 'Neither option is clearly better.', "I'd rather have the guaranteed $2400.",
            'You might want to choose Option B.', 'There is no reason not to choose Option A.', 'Option B seems like the safest bet.',
            "Assuming I'm risk-neutral, I'd choose Option A.", 'I would have chosen Option A, but the certainty of B is attractive.',
            'Choose Option B if you want certainty; otherwise choose Option A.',
        ],
        'refusal': [
            "I can't help with that", 'As an AI I cannot choose', "I'm sorry, but I can't make that choice.", 'I cannot recommend either.',
            "As an AI language model, I don't have personal preferences. Option A is riskier, Option B is certain.", 'I refuse to answer.',
            "Sorry, I can't do that.", "I'm not able to make a choice for you.", "I'm just an AI and do not have feelings.",
            'I am unable to provide financial advice.',
        ],
        'no_response': [
            '', '  \n\t', '<think>B</think>',
        ],
        'truncated': [
            '<think>Option A',
        ],
        'Option A': [

            "To determine which option is better, let's calculate the expected value of each.\n\nOption A: 0.33 x $2500 + 0.66 x $2400 = $2409\nOption B: $2400\n\nOption A has a higher expected value, so a rational decision-maker would choose **Option A**.",
            'To determine which option is better...\n\n**Option A**: EV = $2409\n**Option B**: EV = $2400\n\nTherefore, **Option A** is the better choice.',
            'I would choose Option A. While Option B is certain, Option A has higher expected value.', "Based on expected value, I'd choose Option A.",
            'Given the choice, most people would choose Option B, but I would choose Option A.',
            'The expected value of Option A is $2409 and of Option B is $2400. So Option A.',
            'Answer: Option A\n\nExplanation: Option A has the higher EV. If I were risk-averse I would choose Option B.', 'Pick A!', 'A is my choice.', 'a', 'A.',
            'A ', 'Answer (A)', 'Answer A', 'The answer is Option A, not Option B.', 'first', 'The first one.', 'A because B is worse', 'A rather than B',
            'A over B', 'EV = \\boxed{2409}. I choose Option A.', 'I am torn between A and B, but A.', 'Not B. A.', 'EV(A) > EV(B), so A.',
            'EV(A) > EV(B). Therefore, A is better.', 'A > B, therefore I choose A', 'Option A: $2409. Option B: $2400. Choose A.',
            'Option A: $2409. Option B: $2400. Option A is better.', 'I would choose Option A for its higher payoff.',
            'As a rational decision maker, I would choose Option A.', 'I choose Option A. However, Option B is also good.',
            'I choose Option A. I would not choose Option B.',
            'Both options have their merits, but considering the expected values ($2409 vs. $2400), Option A would be the mathematically superior choice.',
            'Given these two options, the choice that maximizes expected value is Option A.', 'The logical choice here is Option A.',
            'In summary, I choose Option A.', "So I'd choose A.", "As a large language model, I don't gamble. But the rational answer is A.",
            'A. Option A has the higher expected value.', 'I would choose Option A over Option B, because 2409 > 2400.', "I won't choose Option B; Option A it is.",
            'To maximize my expected winnings, I would choose Option A.', 'Option A\n\nReasoning: the expected value of Option A is higher than that of Option B.',
            'Option A.Option A has more value.', "I'd pick A because, unlike B, it has upside.", "It's a close call, but I'd go with A",
        ],
    },
    ('options', 'choice', 'length'): {
        'truncated': [
            'Let me compute the EV of Option A', '',
        ],
        'Option B': [
            'B', 'Option B',
        ],
    },
    ('options', 'choice', 'content_filter'): {
        'refusal': [
            'B',
        ],
    },
    ('options', 'choice', 'error'): {
        'error': [
            'x',
        ],
    },
    ('brands', 'choice', None): {
        'Brand 1': [
            'Brand 1', 'Brand #1', 'brand 1', '**Brand 1**', '1', 'The first brand', 'There are 2 good ones but Brand 1', 'I would buy Brand 1.', 'Brand #1.',
            'Brand 1: best value', "I'd pick Brand 1 over Brand 2 and Brand 3", 'Brand 1 because it is cheaper', 'Option 1', 'Answer: 1',
            'My pick among these brands is Brand 1', 'Based on price $5 and rating 2, Brand 1.', 'Between 1 and 3, I choose 1.',
            'Brand 1: $300, quality 60\nBrand 2: $100, quality 50\nBrand 3: $375, quality 60\n\nBrand 1',
        ],
        'invalid_format': [
            'Brand 4', 'Brand 1 or 2', 'Brand 7 is best', 'There are 3 brands: 1, 2 and 3.', '80', 'Brand 2 costs $3.', 'Brand 1, Brand 2', "I'd buy 2 of them",
            'Option 5', 'Brand A', 'Price 1, quality 2', 'Brands 1 and 2', 'Brand 1.5', 'Brand 12', 'Brand 2 > Brand 1 > Brand 3',
            'Brand 2 dominates Brand 3, so Brand 2 or Brand 1.', 'Brand 2 dominates Brand 3.', '3 brands', 'Price: 3', 'None of the brands',
            "Brand 1 is the cheapest, so I'd buy that one.", 'Brand 2 strikes the best balance.',
        ],
        'Brand 2': [
            'Brand 2, even though Brand 1 is cheaper', 'Brand 3 is dominated, so Brand 2.', 'Brand 2 is the best option.', "I'd buy Brand 2; Brand 3 is worse.",
            'Brand No. 2', 'brand2', '2nd brand', '#2', '2)', 'My pick: 2', 'I pick number 2.',
            "I choose Brand 2 rather than Brand 3 because it's better than Brand 1.", 'Brand 1 is cheapest. Brand 3 is dominated. Brand 2 is best.',
            'I would choose Brand 2. Brand 3 has the same quality at a higher price.', 'Brand 2 is the best value for money.', 'My pick is brand number 2',
            'Brand 2 (higher quality)',
        ],
        'Brand 3': [
            '3', '3.',
        ],
    },
    ('validity', 'choice', None): {
        'valid': [
            'Valid', 'valid.', 'Valid;', 'VALID', 'yes', 'Yes.', 'True', 'Correct', 'The argument is valid.', 'No flowers are animals so it is valid',
            'Yes, the argument is valid.', 'It is logically valid', 'The conclusion follows from the premises.', "It's not invalid.", 'Answer: Yes',
            'I would say valid', 'This is a valid argument.', 'Valid. The argument is not sound though.', '**Valid**', 'The answer is yes.',
            'The conclusion is valid because all whales are mammals.', 'valid\n\nThe premises are true.',
            'The argument is valid. The conclusion is not believable.', 'The argument is not sound, but it is valid.', 'It is valid but not sound.',
            'The argument is valid, although the premises are not true.', 'Yes, the conclusion follows logically from the premises.', 'Valid, since all A are B.',
            'The answer is valid.', "I think it's valid.", 'The conclusion is false, but the argument is valid.', 'True.', 'logically valid',
            'The argument is deductively valid', "The argument isn't invalid", 'not invalid', 'Is it valid? Yes.', 'The conclusion is valid given the premises.',
            "That's valid.", "It's a valid syllogism", 'The syllogism is valid, because it has the form AAA-1 (Barbara).',
            'Yes. All flowers need water, and roses are flowers.', 'The reasoning here is logically sound and valid.',
            'The argument is valid: if the premises are true, the conclusion must be true.',
            "It's a logically valid argument, even if the conclusion is unbelievable.", 'The argument is logically valid. However, it may not be sound.',
            'We can conclude that the argument is valid.',
        ],
        'invalid': [
            'Invalid', 'Not valid', 'not valid.', 'The argument is not valid', 'The argument is not logically valid.', "isn't valid", "It isn't valid",
            'It cannot be considered valid', 'The argument cannot be considered logically valid.', 'The premises are true. The conclusion is invalid', 'No', 'No.',
            'No, the argument is not valid.', 'False', 'Answer: no', 'This is not a valid argument', 'The conclusion does not follow from the premises.',
            'I do not think the argument is valid.', 'The argument is invalid. For an argument to be valid, the conclusion must follow.', 'So, invalid.',
            'not necessarily valid', 'Incorrect', 'The argument is in**valid**', 'The argument seems valid. No wait, it is invalid.\nFinal answer: invalid',
            'An argument is valid if the conclusion follows from the premises. Here it does not. The argument is invalid.', 'The answer is not valid',
            "Invalid; the conclusion doesn't follow.", 'Conclusion: invalid', 'invalid!',
            'This argument is logically invalid because the conclusion does not necessarily follow from the premises.',
            'The conclusion does not logically follow from the premises, so the argument is invalid.', 'No, the conclusion does not follow.',
            'The answer is invalid.', 'Answer: Invalid', "I'd say it's invalid.", 'It is true that whales are mammals, but the argument is invalid.',
            'Logically invalid.', 'The logic is invalid.', 'The argument is considered invalid', 'Is it valid? No.', 'Is it valid? No, it is not.',
            'It is an invalid argument.', 'This is invalid.', "The premises do not support the conclusion, so it's not valid.", "The answer is 'no'",
            'The syllogism commits the fallacy of the undistributed middle, so the argument is invalid.', "No; whales being mammals doesn't entail that.",
            "Let's check. All P are M. Some S are M. It does not follow that some S are P. Hence the argument is invalid.",
            'This argument is not valid because the premises do not guarantee the conclusion.', 'Although the conclusion is true, the argument itself is invalid.',
            'The conclusion is not logically valid.', 'The conclusion cannot be logically derived, so no.', 'The argument, therefore, is invalid.',
        ],
        'invalid_format': [
            'Valid or invalid?', 'The premises are true.', 'No flowers are animals.', 'Yes, the argument is invalid.',
            'It is unclear whether the argument is valid.', 'valid and invalid', 'The premises are valid.', 'That is a valid point.',
            'To be valid, the conclusion must follow.', 'An argument is valid if its conclusion follows.', 'It cannot be determined.', 'neither valid nor invalid',
            'The argument is valid or invalid', 'The answer is no longer clear', 'No reptiles are animals and flowers are reptiles.',
            'If the premises are true, the argument is valid.', "It's hard to say whether it is valid.", 'It is true that whales are mammals.',
            'The argument would be valid if the premises were true', 'The argument is neither valid nor invalid', 'The argument has a valid form.',
            'The argument is of a valid form', 'True, but invalid.', 'There is nothing invalid about the argument.', 'Were it valid, ...', 'valid?',
            "The argument is valid, isn't it?", 'No, because it is valid.', "Yes; it's invalid", 'No idea.', 'No comment', 'No clear answer',
            'The argument does not hold.',
        ],
    },
    ('validity, capital', 'choice', None): {
        'Valid': [
            'Valid;',
        ],
    },
    ('yes or no', 'choice', None): {
        'yes': [
            'YES', 'Yes, I would.', 'Yes!', 'yes, no doubt', 'Of course, yes.', 'I say yes', 'Absolutely yes',
        ],
        'invalid_format': [
            'No way.', 'No thanks, no.', 'Yes and no', 'Yes, but no.', 'Nope', 'No flowers.', 'No doubt.', "I don't know, yes?", 'There is no reason to say yes.',
            'Yes, and no.', 'yes/no', 'Yes or no?', 'Absolutely not.', 'Yes. No. Yes.', 'Answer: Yes/No',
        ],
        'no': [
            'no', 'not yes', 'No', 'The answer is no.', 'I would say no',
        ],
    },
    ('true or false', 'choice', None): {
        'invalid_format': [
            'The statement is not true',
        ],
        'false': [
            'It is false.', 'It is not true.',
        ],
    },
    ('letters for validity', 'choice', None): {
        'B': [
            'The argument is invalid.', 'The argument is not valid.', 'B', 'B) invalid',
        ],
        'invalid_format': [
            'A) invalid',
        ],
        'A': [
            'yes',
        ],
    },
    ('zero to ten', 'scale', None): {
        '7': [
            '7', '7/10', "I'd say 7", '7 - agree', '7 out of 10', '**7**', '7.', 'seven', 'Rating: 7', '7.0', 'On a scale of 0 to 10, I would give it a 7.',
            '7\n\nThere are 3 reasons.', 'Answer: 7\nBecause of 2 things.', "I'd rate it 7/10", '7 (on a 0-10 scale)', 'My rating is 7 (out of 10)',
        ],
        'invalid_format': [
            '7 or 8', '6-7', 'between 6 and 7', "I'd say 7, maybe 8", '11', '-3', '7.5', 'no idea', 'not 7', '5%', '7 because of 2 things', '7/9',
            '8/10. Actually 7/10',
        ],
        'refusal': [
            "I can't answer that",
        ],
    },
    ('zero to ten', 'scale', 'length'): {
        'truncated': [
            '1',
        ],
    },
    ('seven', 'scale', 'length'): {
        '7': [
            '7',
        ],
    },
    ('agreement', 'scale', None): {
        '6': [
            '6 - agree', 'agree',
        ],
        'invalid_format': [
            '7 - strongly disagree',
        ],
    },
    ('agreement', 'choice', None): {
        '7': [
            'strongly agree', 'I strongly agree.',
        ],
        '5': [
            '5', "I'd choose 5.",
        ],
    },
    ('percent', 'scale', None): {
        '30%': [
            '30%', '30', "I'd say 30 percent", 'About 30%.',
        ],
        'invalid_format': [
            '35%', '30-40%',
        ],
    },
    ('none', 'number', None): {
        '28': [
            '28', '28%', '28% (54 of 193)', 'My estimate is 28 percent.',
        ],
        '1250': [
            '$1,250',
        ],
        '1250.5': [
            '1,250.50',
        ],
        '2500000': [
            '2.5 million',
        ],
        '5000': [
            '5k',
        ],
        'invalid_format': [
            '20-30', '20 to 30', 'between 20 and 30', '54 of 193', '12 dollars and 50 cents', "I'd pay 12 dollars and 50 cents", '40 - 50', '3:30', '1 in 10',
            'Answer: - 5', '$40-$50', '5 feet 11', '1.000,50', '5m', 'two hundred', '1e400', 'NaN', 'inf', '\xb2', 'I choose 5, no wait, 6', 'It is not 5',
            'more than 40', 'It depends', '40 or 50', '222 222',
        ],
        '40': [
            'I would pay $40.', 'About 40 dollars', "I'd pay $40, because it cost me 30", '40 dollars because it cost 30', 'no more than 40',
            'I would not pay more than 40', '$ 40', '40$', '40 USD', 'USD 40', 'forty', '\u20ac40', 'at least 40',
        ],
        '-5': [
            '-$5', '-5',
        ],
        '7.5': [
            "I'd ask for at least $7.50",
        ],
        '54': [
            'My estimate: 54 members, i.e. 28%.',
        ],
        '5.25': [
            '**$5.25**', 'Price: $5.25',
        ],
        '5': [
            'It would cost 5 euros',
        ],
        '1000000': [
            'around 1,000,000 people', '1 million',
        ],
        '5000000': [
            '$5m', '5M',
        ],
        '100000': [
            '100 thousand', '1e5',
        ],
        'no_response': [
            '',
        ],
        '1000': [
            'US$ 1,000',
        ],
        'refusal': [
            'I cannot provide an estimate',
        ],
        '25': [
            'The plausible range is 20 to 30. My answer: 25',
        ],
        '42': [
            '{"answer": 42}',
        ],
        '3500': [
            '$3.5k',
        ],
        '10000000': [
            '10,000,000',
        ],
        '0': [
            '0',
        ],
        '0.5': [
            '0.5', '.5',
        ],
        '6.67': [
            '6.67',
        ],
        '50': [
            '50 cents',
        ],
    },
    ('eleven', 'choice', 'length'): {
        'truncated': [
            'Option 1',
        ],
    },
    ('eleven', 'choice', None): {
        'Option 1': [
            'Option 1',
        ],
        'Option 11': [
            'I select Option 11.',
        ],
        'invalid_format': [
            'Option 12', 'I would choose Option 3 (or Option 4).',
        ],
        'Option 3': [
            'option 3', '**Option 3**',
        ],
        'Option 10': [
            '10',
        ],
    },
    ('doctors', 'choice', None): {
        'Doctor Smith': [
            'Doctor Smith', "I'd choose doctor smith.",
        ],
        'invalid_format': [
            'not Doctor Smith',
        ],
    },
    ('vehicles', 'choice', None): {
        'bus': [
            'bus', 'I would take the bus.', 'The bus.',
        ],
        'invalid_format': [
            'car or bus',
        ],
    },
}
ROWS = [(menu, answer, finish, want, text) for (menu, answer, finish), wanted in CASES.items() for want, texts in wanted.items() for text in texts]
LETTERS = [(text, want) for menu, answer, finish, want, text in ROWS if menu == "options" and not finish]


@pytest.mark.parametrize("menu,answer,finish,want,text", ROWS)
def test_reading(menu, answer, finish, want, text):
    reading = read_choice(text, MENUS[menu], answer, finish)
    assert (reading.choice or reading.status) == want, reading
    assert want in STATUSES or reading.status == "ok"


@pytest.mark.parametrize("text,want", LETTERS)
def test_bare_letters_are_read_like_named_options(text, want):
    reading = read_choice(text, MENUS["letters"])
    assert (reading.choice or reading.status) == want.removeprefix("Option "), reading
