"use strict";
(() => {
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  root.classList.add("js");

  // Light or dark: the reader's choice wins over the system's.
  const theme = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const say = () => { theme.textContent = dark() ? "Light colours" : "Dark colours"; };
  theme.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; say(); });
  system.addEventListener("change", say);
  say();

  // Filters. Elements of a contender or a workload name it in an attribute.
  const boxes = all("#contenders input");
  const workload = document.getElementById("workload");
  const filter = () => {
    const hidden = new Set(boxes.filter((box) => !box.checked).map((box) => box.value));
    const only = workload ? workload.value : "";
    for (const element of all("[data-contender], [data-workload]")) {
      const { contender, workload: own } = element.dataset;
      const off = (contender !== undefined && hidden.has(contender)) || (own !== undefined && only !== "" && own !== only);
      element.classList.toggle("off", off);
    }
  };
  boxes.forEach((box) => box.addEventListener("change", filter));
  if (workload) workload.addEventListener("change", filter);
  filter();

  // Tables are sorted by the column whose head is clicked.
  const key = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
  };
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
  for (const head of all("table.sortable th")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      all("th", head.parentNode).forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const body = head.closest("table").tBodies[0];
      const rows = [...body.rows].sort((a, b) => compare(key(a, head.cellIndex), key(b, head.cellIndex)));
      body.replaceChildren(...(up ? rows : rows.reverse()));
    });
  }

  // The zoom stretches timelines to the right of their names; heights and letters do not change.
  const stretch = (svg, factor) => {
    const left = Number(svg.dataset.left);
    svg.before_ ??= { box: svg.viewBox.baseVal.width, height: svg.viewBox.baseVal.height, places: new Map() };
    const { box, height, places } = svg.before_;
    const move = (x) => (x <= left ? x : left + (x - left) * factor);
    const read = (element, name) => {
      if (!places.has(element)) places.set(element, {});
      return (places.get(element)[name] ??= element.getAttribute(name));
    };
    for (const element of all("rect, text, line, polyline, polygon", svg)) {
      if (element.tagName === "rect") {
        const x = Number(read(element, "x")), width = Number(read(element, "width"));
        element.setAttribute("x", move(x));
        element.setAttribute("width", move(x + width) - move(x));
      } else if (element.tagName === "polygon") {
        // The head of an arrow keeps its shape and moves with its tip.
        const points = read(element, "points").trim().split(" ").map((point) => point.split(",").map(Number));
        const shift = move(points[0][0]) - points[0][0];
        element.setAttribute("points", points.map(([x, y]) => `${x + shift},${y}`).join(" "));
      } else if (element.hasAttribute("points")) {
        const points = read(element, "points").trim().split(" ").map((point) => point.split(",").map(Number));
        element.setAttribute("points", points.map(([x, y]) => `${move(x)},${y}`).join(" "));
      } else {
        for (const name of ["x", "x1", "x2"]) {
          if (element.hasAttribute(name)) element.setAttribute(name, move(Number(read(element, name))));
        }
      }
    }
    const width = left + (box - left) * factor;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.style.width = `${(100 * width) / box}%`;
    svg.style.maxWidth = "none";
  };
  for (const figure of all("figure.timeline")) {
    let factor = 1;
    const bar = document.createElement("div");
    const label = document.createElement("span");
    bar.className = "zoom";
    const button = (text, name, next) => {
      const made = document.createElement("button");
      made.type = "button";
      made.textContent = text;
      made.setAttribute("aria-label", name);
      made.addEventListener("click", () => {
        factor = Math.min(32, Math.max(1, next(factor)));
        all("svg[data-left]", figure).forEach((svg) => stretch(svg, factor));
        show();
      });
      bar.append(made);
      return made;
    };
    const out = button("−", "zoom out", (now) => now / 2);
    const into = button("+", "zoom in", (now) => now * 2);
    const show = () => {
      label.textContent = factor === 1 ? "zoom" : `zoom ${factor}×, scroll sideways`;
      out.disabled = factor === 1;
      into.disabled = factor === 32;
    };
    bar.append(label);
    figure.insertBefore(bar, figure.querySelector(".scroll"));
    show();
  }
})();
