// Tagged templates that make DOM. Only the fixed strings of a template are parsed as HTML; values
// become text nodes, attributes, properties or listeners, so data is never markup.
//   render(html`<a href=${url} class="row ${kind}" ?hidden=${off} .value=${text} @click=${run}>
//     ${label} ${each(rows, (row) => row.id, (row) => html`<li>${row.name}</li>`)}</a>`, container)
// A child value is a text, number, node, template or list of these; null, false and undefined are
// nothing. `.style=${{width: "40%"}}` sets style through the CSSOM.

/** @typedef {{strings: TemplateStringsArray, values: unknown[]}} Template */
/** @typedef {{each: {key: unknown, value: unknown}[]}} Keyed */
/** @typedef {{update(values: unknown[], index: number): void, size: number}} Part */

const MARK = "{{b}}";
const NAME = /([^\s"'<>=/]+)\s*=\s*(?:"[^"]*|'[^']*|[^\s"'<>]*)$/;
const compiled = new WeakMap();
const roots = new WeakMap();

/** @param {TemplateStringsArray} strings @param {...unknown} values @returns {Template} */
export const html = (strings, ...values) => ({ strings, values });

/** A list whose nodes move with their keys.
 * @template T @param {Iterable<T>} items @param {(item: T) => unknown} key
 * @param {(item: T, index: number) => unknown} value @returns {Keyed} */
export const each = (items, key, value) => ({
  each: Array.from(items, (item, index) => ({ key: key(item), value: value(item, index) })),
});

/** Show *value* as all that *container* holds; later calls change only what differs.
 * @param {unknown} value @param {Element | DocumentFragment} container */
export function render(value, container) {
  let child = roots.get(container);
  if (!child) {
    const end = document.createComment("");
    container.replaceChildren(end);
    child = new Child(end);
    roots.set(container, child);
  }
  child.set(value);
}

/** @param {Template} template */
function compile({ strings }) {
  const found = compiled.get(strings);
  if (found) return found;
  let text = "";
  const names = [];
  strings.forEach((part, index) => {
    text += part;
    if (index === strings.length - 1) return;
    if (text.lastIndexOf("<") > text.lastIndexOf(">")) {
      const name = NAME.exec(text);
      if (!name) throw new Error(`no attribute before a value: ${text.slice(-40)}`);
      names.push(name[1]);
      text += MARK;
    } else {
      text += `<!--${MARK}-->`;
    }
  });
  const element = document.createElement("template");
  element.innerHTML = text;
  const made = { element, places: places(element.content, names) };
  compiled.set(strings, made);
  return made;
}

/** Find where the values of a template go, in their order.
 * @param {DocumentFragment} content @param {string[]} names */
function places(content, names) {
  const found = [];
  const walker = document.createTreeWalker(content, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_COMMENT);
  let used = 0;
  for (let index = 0; walker.nextNode(); index++) {
    const node = walker.currentNode;
    if (node.nodeType === Node.COMMENT_NODE) {
      if (/** @type {Comment} */ (node).data === MARK) found.push({ index, name: null, fixed: null });
      continue;
    }
    const element = /** @type {Element} */ (node);
    for (const attribute of Array.from(element.attributes)) {
      const fixed = attribute.value.split(MARK);
      if (fixed.length === 1) continue;
      const name = names[used];
      used += fixed.length - 1;
      element.removeAttribute(attribute.name);
      found.push({ index, name, fixed });
    }
  }
  return found;
}

/** The nodes of a template with the parts that its values set. */
class Instance {
  /** @param {Template} template */
  constructor(template) {
    const { element, places: all } = compile(template);
    this.strings = template.strings;
    this.fragment = document.importNode(element.content, true);
    this.parts = bind(this.fragment, all);
    this.set(template.values);
  }

  /** @param {unknown[]} values */
  set(values) {
    let index = 0;
    for (const part of this.parts) {
      part.update(values, index);
      index += part.size;
    }
  }
}

/** @param {DocumentFragment} fragment @returns {Part[]} */
function bind(fragment, all) {
  const nodes = [];
  const walker = document.createTreeWalker(fragment, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_COMMENT);
  while (walker.nextNode()) nodes.push(walker.currentNode);
  return all.map(({ index, name, fixed }) => {
    const node = nodes[index];
    if (name === null) return new Child(node);
    if (name.startsWith("@")) return new Listener(node, name.slice(1));
    return new Attribute(node, name, fixed);
  });
}

/** An attribute, a property or a flag of an element. */
class Attribute {
  constructor(element, name, fixed) {
    this.element = element;
    this.fixed = fixed;
    this.size = fixed.length - 1;
    this.kind = name[0] === "." || name[0] === "?" ? name[0] : "";
    this.name = this.kind ? name.slice(1) : name;
    this.before = /** @type {unknown} */ (undefined);
    this.first = true;
  }

  update(values, index) {
    const whole = this.size === 1 && this.fixed[0] === "" && this.fixed[1] === "";
    const value = whole ? values[index] : this.joined(values, index);
    // What a person typed may differ from what was set before.
    const typed = this.kind === "." && (this.name === "value" || this.name === "checked");
    if (!this.first && !typed && value === this.before) return;
    this.first = false;
    this.before = value;
    if (this.kind === ".") this.property(value);
    else if (this.kind === "?") this.element.toggleAttribute(this.name, Boolean(value));
    else if (value === null || value === undefined || value === false) this.element.removeAttribute(this.name);
    else this.element.setAttribute(this.name, value === true ? "" : String(value));
  }

  joined(values, index) {
    return this.fixed.reduce((text, part, at) => text + String(values[index + at - 1] ?? "") + part);
  }

  property(value) {
    if (this.name === "style") {
      for (const [name, text] of Object.entries(value)) {
        if (name.startsWith("--")) this.element.style.setProperty(name, text);
        else this.element.style[name] = text;
      }
    } else if (this.element[this.name] !== value) {
      this.element[this.name] = value;
    }
  }
}

/** A listener that may change without being added again. */
class Listener {
  constructor(element, name) {
    this.size = 1;
    this.run = /** @type {any} */ (null);
    element.addEventListener(name, (event) => this.run?.call(element, event));
  }

  update(values, index) {
    this.run = values[index];
  }
}

/** Whatever stands before the comment *end*. */
class Child {
  /** @param {Comment} end */
  constructor(end) {
    this.end = end;
    this.size = 1;
    this.start = /** @type {Node | null} */ (null);
    this.value = /** @type {unknown} */ (undefined);
    this.instance = /** @type {Instance | null} */ (null);
    this.children = /** @type {Map<unknown, {child: Child, nodes: Comment}> | null} */ (null);
  }

  update(values, index) {
    this.set(values[index]);
  }

  set(value) {
    if (value === null || value === undefined || value === false || value === true) value = "";
    if (typeof value === "object" && "strings" in value) this.template(value);
    else if (typeof value === "object" && "each" in value) this.list(value.each);
    else if (Array.isArray(value)) this.list(value.map((item, key) => ({ key, value: item })));
    else if (value instanceof Node) this.node(value);
    else this.text(String(value));
  }

  text(text) {
    if (this.start?.nodeType === Node.TEXT_NODE && this.value === "text") {
      const node = /** @type {Text} */ (this.start);
      if (node.data !== text) node.data = text;
      return;
    }
    if (text === "" && this.start === null) return;
    this.clear();
    if (text === "") return;
    this.value = "text";
    this.insert(document.createTextNode(text));
  }

  node(node) {
    if (this.value === node) return;
    this.clear();
    this.value = node;
    this.insert(node);
  }

  template(template) {
    const { instance } = this;
    if (instance && instance.strings === template.strings) {
      instance.set(template.values);
      return;
    }
    this.clear();
    this.instance = new Instance(template);
    this.insert(this.instance.fragment);
  }

  /** @param {{key: unknown, value: unknown}[]} items */
  list(items) {
    if (!this.children) {
      this.clear();
      this.children = new Map();
      this.insert(document.createComment(""));
    }
    const kept = new Set(items.map((item) => item.key));
    for (const [key, { child, nodes }] of this.children) {
      if (kept.has(key)) continue;
      child.clear();
      nodes.remove();
      child.end.remove();
      this.children.delete(key);
    }
    let cursor = /** @type {Node} */ (this.start).nextSibling;
    for (const { key, value } of items) cursor = this.item(key, value, cursor);
  }

  /** Put the item *key* before *cursor*; return the node after the item. */
  item(key, value, cursor) {
    const children = /** @type {Map<unknown, {child: Child, nodes: Comment}>} */ (this.children);
    let found = children.get(key);
    if (!found) {
      const nodes = document.createComment("");
      const end = document.createComment("");
      cursor.before(nodes, end);
      found = { child: new Child(end), nodes };
      children.set(key, found);
    } else if (found.nodes !== cursor) {
      const range = document.createRange();
      range.setStartBefore(found.nodes);
      range.setEndAfter(found.child.end);
      cursor.before(range.extractContents());
    }
    found.child.set(value);
    return found.child.end.nextSibling;
  }

  /** @param {Node} node */
  insert(node) {
    this.start = node.nodeType === Node.DOCUMENT_FRAGMENT_NODE ? node.firstChild : node;
    /** @type {ParentNode & Node} */ (this.end.parentNode).insertBefore(node, this.end);
  }

  clear() {
    while (this.start && this.start !== this.end) {
      const next = this.start.nextSibling;
      /** @type {ChildNode} */ (this.start).remove();
      this.start = next;
    }
    this.start = null;
    this.instance = null;
    this.children = null;
    this.value = undefined;
  }
}
