# ruff: noqa: E501 (a prompt's line is as long as it is)
"""The prompts that Appendix I of ActiView's paper prints, word for word, with their spelling.

The paper does not state the text of some fields. They are filled as follows:

- "Image 0" names the full image, which stands before that sentence.
- ``zoomed`` (<zoomed_images>) is each view with its name, as in the toolkit; ``views`` (<all_required_views>) likewise.
- ``images`` and ``names`` of `MIXED` (<image_views> <image_view_desc>) are the views, and then their names by number.
- ``others`` (<view_options>) are the names of the views that were not shown.
- `MORE` and the first paragraph of `OPERATE` are printed for one view. For several, "image 0 is <image0>, is the
  <image_view> part of the full image", "image 0" and "<image_view>" are repeated for each, separated by commas.

A line of a template is a printed paragraph or list item. In `SELECT`, the text at hand has lost the quoted comma after
"split by"; it is that of the toolkit.

References
----------
.. [1] Wang et al., ActiView, Appendix I.
"""

from __future__ import annotations

ANSWER = "Carefully analysis this image {image}, and answer the question from the given options. Question: {question} Options: {options}. Answer:"
"""I.1, "General Question Answering"."""

SHORT_ANSWER = "{question} {options}. Answer:{image}"
"""I.1, "Question Answering (SEAL and MGM)"."""

SELECT = """This is the full image {image}, which is split in to {split} equal parts, numbered from 1 to {split}, where {description}.
===
Response with the number of part (at least one part, at most {split} parts), that must be used to answer the question. The question is: {question}
===
Do not directly answer the given question. Response with the selected number of parts, split by ',' if there are multiple selections. Your Response:"""
"""I.2, "View Selection"."""

ZOOMED = "{image}Image 0 is the full image. {zoomed}These are your selected part from the full image to be zoomed for details for answering the question. Please answer question according to the given images from the the given options. Question: {question} Options: {options}. Answer:"
"""I.2, "Zooming Question Answering"."""

MORE = """You will be presented with a partial image and a question concerning the full image. {images}. Given {numbers}, please determine if you need more visual information to answer the question: {question}
Do not directly answer the question. If you can answer the question without more visual information, response with NO. Otherwise, response with other image parts you need to see given this {names} part, you can choose from these views: {others}. Your Response:"""
"""I.3, "Missing-view Examination"."""

SHIFTED = "These are parts of an image. {views}. Carefully analysis these images and pay attention to their original position. Answer the question from the given options. Question: {question}. Options: {options}. Answer:"
"""I.3, "Shifting Question Answering"."""

ZOOM = """You will be presented with a full image {image} and a corresponding question to answer. The image is split in to {split} equal parts, numbered from 1 to {split}, where {description}.
You can check for detailed visual information via zooming operation that zoom in to your selected part or parts iwth from the above numbers. Response with the the numbers of parts you wish to zoom in, or response with "none" if you don't need to can check for details.
The quesiton is: {question}
You should not directly answer the question. You should generate the a json dict containing 2 fields:
- "part": type str, the selected numbers of index of parts, split by ",", or 'none' if no zooming required;
- "reason": type str, why you choose these parts.
Your response:"""
"""I.4, "Operation Determination (1)"."""

OPERATE = """You will be presented with a partial image and a question concerning the full image. {images}. Given {numbers}, please determine if you need more visual information to answer the question: {question}
===
Your are given a full image {image} and a corresponding question to answer. The image is split in to {split} equal parts, numbered from 1 to {split}, where {description}. Your have chosen to zoom in to these parts, {zoomed}, for detailed checking if they can help to ansewr the quesiton.
Question: {question} Options: {options}. Now, there are two operations: "keep" and "shift".
- "keep": choose none or more parts from the zoomed ones to answer the question;
- "shift": you can shift to the rest parts to answer questions or answer question with none sub-parts.
You should not directly answer the question. You should return you answer in a json dict containing two fields:
- "zoom_keep": type str, the index numbers of required parts split by ",", or "none" if the zoomed parts are useless;
- "shift": type str, the index numbers of the rest parts, that are useful to the question split by ",", or "none" if you don't wish to shift.
Your response:"""
"""I.4, "Operation Determination (2)". Its first paragraph repeats that of the missing-view examination."""

MIXED = "{image}Image 0 is the full image. {images} {names} These are your selected part of image that must be used to answer the question. Please answer question according to the given images from the the given options. Question: {question} Options: {options}. Answer:"
"""I.4, "Question Answering for Mixed Pipeline"."""

DESCRIPTION = (
    "1 is the upper-left part, 2 is the lower-left part, 3 is the upper-right part, and 4 is the lower-right part"
)
"""I.2, the description of a split into four. The paper prints no other."""
