// The difference between two texts, word by word.

/** Returns parts [kind, text]: "same", "del" or "ins". Long texts differ as a whole. */
export function difference(before, after) {
  const a = words(before);
  const b = words(after);
  if (a.length * b.length > 250_000) return [["del", before], ["ins", after]];
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i][j] = a[i] === b[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  const parts = [];
  const add = (kind, text) => {
    const last = parts[parts.length - 1];
    if (last && last[0] === kind) last[1] += text;
    else parts.push([kind, text]);
  };
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      add("same", a[i++]);
      j++;
    } else if (j === b.length || (i < a.length && lengths[i + 1][j] >= lengths[i][j + 1])) add("del", a[i++]);
    else add("ins", b[j++]);
  }
  return parts;
}

function words(text) {
  return text.match(/\s+|[^\s]+/gu) ?? [];
}

/** Returns an element with the difference, or null if the texts are the same. */
export function shownDifference(before, after) {
  if (before === after) return null;
  const line = document.createElement("span");
  for (const [kind, text] of difference(before, after)) {
    const part = document.createElement(kind === "same" ? "span" : kind);
    part.textContent = text;
    line.append(part);
  }
  return line;
}
