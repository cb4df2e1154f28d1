// What participants read, and where answers go. Change the words between the quotation marks; each
// line of a list is a paragraph. Questions of comprehension follow the instructions, which are shown
// a second time after a wrong answer; a second one ends the study. Exporting again keeps this file.
window.TEXTS = {
  "title": "A study of decisions",
  "consent": [
    "In this study you answer short questions. It takes a few minutes.",
    "Taking part is voluntary, and you may stop at any time by closing this page. Your answers are stored without your name.",
    "Write here who runs the study, what it is for, who approved it, and whom to ask."
  ],
  "agree": "I agree and take part",
  "refuse": "I do not take part",
  "refused": ["You do not take part. You may close this page."],
  "instructions": [
    "Please read each question and give the answer that fits best. No answer is right or wrong.",
    "You cannot go back to an earlier question."
  ],
  "comprehension": [
    // {"question": "What are you asked to do?", "choices": ["To find errors", "To answer"], "right": "To answer"},
  ],
  "not_understood": ["These were not the right answers, so the study ends here. Please return it."],
  "next": "Continue",
  "progress": "Progress",
  "number": "a number",
  "number_between": "a number from {low} to {high}",
  "check": {
    "question": "This question checks that you are reading carefully. Whatever your favorite color is, please choose green.",
    "choices": ["Red", "Green", "Blue", "Yellow"],
    "right": "Green"
  },
  "completion": ["Thank you. Your answers are complete."],
  "save": "Save my answers",
  "save_hint": "Please save your answers as a file and send it to those who run the study.",
  "not_sent": "Your answers could not be sent.",
  "code_hint": "Your completion code:",
  "back": "Back to Prolific",

  "post_to": "",
  "completion_code": "",
  "code_if_check_failed": "",
  "code_if_not_understood": ""
};
