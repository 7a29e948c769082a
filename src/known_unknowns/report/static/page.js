// Tabs for benchmarks, figures that can be saved, hashes that can be copied.
"use strict";
(() => {
  const { element, refresh, text } = KnownUnknowns;

  // Tabs. Without a script, and in print, all sections are shown below each other.
  function tabs(box) {
    const panels = [...box.children].filter((child) => child.dataset.tab);
    if (panels.length < 2) return;
    const list = element("div", { role: "tablist", "aria-label": box.dataset.tabs, class: "tabs" });
    const buttons = panels.map((panel, index) => element("button", {
      type: "button", role: "tab", id: `tab-${panel.id}`, "aria-controls": panel.id,
      onclick: () => open(index), onkeydown: (event) => move(event, index),
    }, panel.dataset.tab));
    function select(index) {
      panels.forEach((panel, place) => {
        panel.classList.toggle("unselected", place !== index);
        buttons[place].setAttribute("aria-selected", place === index);
        buttons[place].tabIndex = place === index ? 0 : -1;
      });
      refresh();
    }
    function open(index) {
      select(index);
      history.replaceState(null, "", `#${panels[index].id}`);
    }
    function move(event, index) {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = (index + step + panels.length) % panels.length;
      open(next);
      buttons[next].focus();
    }
    panels.forEach((panel) => {
      panel.setAttribute("role", "tabpanel");
      panel.setAttribute("aria-labelledby", `tab-${panel.id}`);
    });
    list.append(...buttons);
    box.prepend(list);
    box.classList.add("tabbed");
    function follow() {
      const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
      const index = target ? panels.findIndex((panel) => panel.contains(target)) : -1;
      if (index < 0) return;
      select(index);
      buttons[index].scrollIntoView({ block: "nearest", inline: "nearest" });
      if (target === panels[index]) list.scrollIntoView({ block: "nearest" });
      else target.scrollIntoView();
    }
    select(0);
    follow();
    window.addEventListener("hashchange", follow);
  }

  // A link to a folded part of the page unfolds it.
  function unfold() {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target || !target.matches("details")) return;
    target.open = true;
    target.scrollIntoView();
  }

  function tools(figure) {
    const svg = figure.querySelector(".drawing svg");
    if (!svg) return;
    const copy = () => {
      const made = svg.cloneNode(true);
      const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      for (const [name, value] of [["width", "100%"], ["height", "100%"], ["fill", "white"]]) ground.setAttribute(name, value);
      made.prepend(ground);
      return new XMLSerializer().serializeToString(made);
    };
    const png = () => {
      const image = new Image();
      image.onload = () => {
        const canvas = element("canvas", { width: 3 * image.width, height: 3 * image.height });
        canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
        canvas.toBlob((content) => KnownUnknowns.save({ content, ending: "png" }, figure.id), "image/png");
      };
      image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(copy())}`;
    };
    const save = () => KnownUnknowns.save({ content: copy(), type: "image/svg+xml", ending: "svg" }, figure.id);
    const title = text(figure.querySelector("figcaption strong"));
    figure.append(element("div", { class: "tools" },
      element("button", { type: "button", onclick: save, "aria-label": `Save as SVG: ${title}` }, "SVG"),
      element("button", { type: "button", onclick: png, "aria-label": `Save as PNG: ${title}` }, "PNG")));
  }

  function copier(code) {
    const button = element("button", { type: "button", class: "copy", "aria-label": `Copy ${code.title}`, onclick: async () => {
      await navigator.clipboard.writeText(code.title);
      button.textContent = "copied";
    } }, "copy");
    code.after(" ", button);
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("[data-tabs]").forEach(tabs);
    document.querySelectorAll("figure[id]").forEach(tools);
    unfold();
    window.addEventListener("hashchange", unfold);
    document.querySelectorAll("code.hash").forEach(copier);
    document.querySelector(".pages [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  });
})();
