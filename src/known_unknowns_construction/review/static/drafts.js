// Unsaved changes, stored in the browser so that a crash does not lose them. Without storage, none are restored.

/** The stored change of a question; null without one. */
export function readDraft(name) {
  try {
    return JSON.parse(localStorage.getItem(name));
  } catch {
    return null;
  }
}

/** Stores a change, or removes it (null). */
export function writeDraft(name, draft) {
  try {
    if (draft) localStorage.setItem(name, JSON.stringify(draft));
    else localStorage.removeItem(name);
  } catch {
    // no storage
  }
}
