"""The prompts of the paper's Appendix J.3, word for word; emphasis of the printed text is left out.

Doubled braces of the printed templates are sent as single ones, and braces that the printed text lacks are added. Words
are as printed, with their misspellings.
"""

STEP_1 = """\
The clues for marking information in several bboxes in this picture are: {clues}

Based on several bboxes and corresponding clues, please design a question that requires the model to synthesize the \
information in these bboxes (at least two, and can only be answered based on the information in the bboxes and the \
clues corresponding to the annotated information). You only need to ask the question, and there is no need to repeat \
the clue again.

Note that the existence of bbox (including its ID information) cannot be mentioned in the question. Questions and \
reasoning should be based on objective facts as much as possible instead of subjective guessing. But at the same time, \
you should also avoid grounding questions and questions that can be answered without pictures (including questions \
like what someone in the picture is doing)

Next, mark me the corresponding information in the following format:

1. "question" (str)
2. "options" (list)
3. "abilities" (list): choose from "zoom in", "zoom out", "shifting" (it is mentioned in the analysis and is not \
mentioned at the beginning)
4. "answer" (int, index of option)
5. "order": the order in which the pictures cut out of the bbox and the entire picture are displayed (the list is \
given in the order of reasoning, all of which are ints, representing the id corresponding to the bbox on the picture, \
if it is a complete picture, it is 0)
6. "groundtruth": Give the reasons and complete reasoning process for answering the question
7. "number_of_operations": For example, first zoom in and then move the angle of view, it is two operations

You must give me the answer in the following json-string format(not code block) and don't say anything else:

{
"question": question(str),
"options": options(list),
"abilities": ablities(list),
"answer": answer_index(int),
"order": order(list),
"groundtruth": groundtruth(str),
"number_of_operations": number of the operations(int)
}
"""

SCORING = """\
We want to design a question about the picture to test the active perception ability of the respondent. Here are the \
requirements:

You will be provided with an image and information of bboxes in it. You should design a question that requires the \
respondent to synthesize the information in these bboxes.

While designing the questions, you must follow these rules:

- The question should be based on the information in the given bboxes.
- The question requires the respondent to obtain information from the field of view of these bboxes as a basis, \
identify irrelevant information on the picture, and move the field of view of different bboxes to obtain more \
information before answering the question.
- Differences between options should be distinct. And options must not be conflict to each other.
- There should be one and only one correct answer among all options.
- The evidence or clues for answering the question must be visible in the image. Also, you should realize the \
following conditions:
- The answers must not require the respondent guess subjectively.
- You cannot generate questions require simple object grounding, e.g., what is the object in a certain region, what \
is the color of an object, etc.
- The existence of bbox and visual clues (including their ID information) cannot be mentioned in the question nor in \
the options.

You should score the annotation through the rules given above. Here are the predefined levels for scoring, where level \
D is the worst and level A is the best:

- Level D: no reasonable questions can be generated for the given image by strictly following our rules.
- Level C: the question contains subjective guesses and judgments, rather than strictly following the rules(e.g. infer \
the location from the architectural style/image style rather than some grounding signs and texts etc.)
- Level B: the question can be answered via simple captioning of the pictures(like using ViT or OCR to caption the \
picture and ask the language model to answer the question with out the picture), or can be answered via pure common \
sense reasoning.
- Level A: the question is cleverly designed and is completely based on the information in the picture. It requires \
the respondents to visit different parts marked on the image for comprehensive reasoning, which fully complies with \
the above marking rules.

Remenber, if any subjective guess seems to appear, or anything that requires inferring from knowledge outside the \
image, or anything that does not follow our rule strictly (including asking for some weired questions etc.), do not \
hesitate to assign a low level.

Here's the annotation information of the given picture: {annotation}

You must give me the answer in the following json-string format(not code block) and don't say anything else:

{
"score": string, choose from "A", "B", "C", "D"
"reason": string, explain why you give this score
}
"""

STEP_2 = """\
You are an annotator to design questions and options for given images. Here are the guidebook for you:

Overall task description: You will be presented with an image, please generate a question, corresponding options and \
answer to the question, and some other information that help the reasoning process as well.

Detailed requirements you must follow:

- You must design the problem in the following type:

Counting with restricted information or extending reasoning based on counting. For example, there are lots of products \
in the image, but only a part of them are on sale, you can ask for the number of on sale products. Options are list of \
numbers. Candidates:

- How many people are wearing black hat?
- How many products are on discount?
- Which color of umbrellas are the most numerous in the picture?

But remember, you cannot ask common sense questions like how many objects are there in the picture, which can be \
answered without reasoning.

- Simple grounding questions are NOT allowed, such as (but not restricted to): "what is xxx object?", "What is the \
color/style of xxx?", and etc.
- For answers:
- By referring to the image, there must exists one and only one answer, without any ambiguities and subjective guesses.
- The evidence for answering the question must be visible in the image.
- Objective reasoning are not allowed.
- DO NOT rely on information that does not exist in the image.
- For options:
- The differences between generated options should be distinct.
- There should be one and only one correct answer among all options.
- Options must not be conflict to each other.

===

The requirements of the generated data format are as follows:

1. "question" (str, start with wh words or prep + wh words)
2. "options" (list)
3. "abilities" (list): choose from "zoom in", "zoom out", "shift"
4. "answer" (int, index of correction option, starting from 0)
5. "groundtruth": Give the reasons and complete reasoning process for answering the question
6. "operations": For example, first zoom in to a region and then moving to a different region, counted as two operations

===

Here are some bounding boxes and their type for you to refer to:
{boxes}

The items in these bounding boxes are all {type} The questions you ask must be about the information within the \
bounding boxes and strictly meet the requirements and question types given to you above.

If it is impossible to come up with required questions, you should response with "question": (str)"None" in \
json-string "question": (str)"None" in json-string format(not code block). Otherwise, you must generate response in \
the following json-string format(not code block) and dont say anything else:

{
"question": question(str),
"options": options(list),
"abilities": ablities(list),
"answer": answer_index(int),
"order": order(list),
"groundtruth": groundtruth(str),
"operations": number of the operations(int),
}

Please generate response for the given image that strictly follow the above requirments:
"""
