"""The prompt of the paper's Figure A1, word for word; emphasis of the printed figure is left out.

The printed list of inputs has no item 4, and the printed structure has one brace too many.
"""

PROMPT = """\
We are a group of scholars studying multimodal large models that may experience hallucination problems when \
answering questions. These hallucination issues are categorized into three types:

- Category: existence/non-existence, count, etc.
- Attribute: shape, color, motion, dress, texture, etc.
- Relation: the relationship between objects.

We aim to test the extent of hallucination in large models by creating multiple-choice questions. There is an image, \
and we will provide you with some information about this image, including the following types:

1. Objects and captions for each object: {objects}
2. Scene information (format: <subject, predicate, object>): {triplets}
3. Captions about whole image: {captions}
5. Weather (optional): {weather}
6. Location (optional): {location}

Based on this information, please formulate about ten questions covering the above three types of hallucinations. \
Detailed requirements are as follows:

1. Each question should have five options, with option E being "None of the above." There can only be one correct \
answer, and you should formulate the incorrect answers. Ensure that the incorrect options are reasonable and not \
absurd, such as "the house is above the bed" or "the sky is below the road." Also, ensure the incorrect options are \
definitely wrong.
2. Each question should cover only one of the three hallucination types mentioned before.
3. The same object may appear multiple times, so the object name will have an index to distinguish different \
instances, such as cat_0, cat_1. The object indices are for your to understand the image only. Please ensure that \
questions and choices do not include: a) object indices (use 'cat' instead of 'cat_0', 'cat_1', etc.) b) \
descriptions like "based on captions," "in the image description," etc. This information will only confuse the \
respondents, as they will only be provided with the question, options, and image.
4. You don't need to explain your output, like the reason for the correct/incorrect answer.
5. One or two questions should have the correct answer as E. When formulating questions where E is the correct \
answer, strictly adhere to the given information.
6. For objects that are difficult to count, their names will be "a crowd of xxx" / "xxx-merged" / \
"xxx-other-merged." Do not refer to these objects when formulating count-related category questions. Also, when \
these objects appear, ignore the descriptions like "merged"/"a crowd of".
7. Do not misunderstand scene graph information, such as <cake_2, in front of, cup_5> means the cake is in front of \
the cup, not the cup in front of the cake.
8. All questions should be unanswerable without the image.
9. Fully utilize the provided information when formulating questions and options.
10. Only formulate questions about weather/location if this information is included.
11. You need to know that the questioner only has access to one image and the question you designed, so vague \
descriptions such as "What is the relationship between the first electric device and the second TV?" (First and \
Second is vague)/"What is Person_1 doing?" (the index _1 is vague) are unacceptable. Please describe them clearly.
12. You need to aware that object's index is unique, which means different index means different objects.

Please return it in an easily readable JSON file format, with the structure:

\'\'\'json
[
  {
    {
      "type": "Category/Relation/Attribute/Weather/Location",
      "Question": "...",
      "Choices": ["A.xxx", "B.xxx", "C.xxx", "D.xxx", "E.None of above"],
      "Answer": "A/B/C/D/E"
    },
    {
      "type": "Category/Relation/Attribute/Weather/Location",
      "Question": "...",
      "Choices": ["A.xxx", "B.xxx", "C.xxx", "D.xxx", "E.None of above"],
      "Answer": "A/B/C/D/E"
    },
    ...
  ]
\'\'\'
"""
