// Owns: one entry of a YAML file. Comments stay; the library may lay out lines anew. Does not own: which file.
import { type Document, isMap, parseDocument, stringify } from "yaml";
import type { ConfigFormat } from "./config-text.ts";

const documentOf = (text: string): Document => {
  const document = parseDocument(text);
  const [first] = document.errors;
  if (first !== undefined) throw new SyntaxError(`it is not YAML (${first.message.split("\n")[0] ?? ""})`);
  return document;
};

const print = (document: Document, text: string): string => {
  const printed = document.toString({ lineWidth: 0 });
  return text.includes("\r\n") ? printed.replaceAll(/\r?\n/g, "\r\n") : printed;
};

export const yamlFile: ConfigFormat = {
  empty: "",
  parse: (text) => documentOf(text).toJS() ?? {},
  set(text, path, value) {
    const document = documentOf(text);
    if (document.contents === null) document.contents = document.createNode({});
    // `extensions:` without a value.
    if (!isMap(document.get(path[0]))) document.set(path[0], document.createNode({}));
    document.setIn(path, document.createNode(value));
    return print(document, text);
  },
  remove(text, [container, name]) {
    const document = documentOf(text);
    document.deleteIn([container, name]);
    const inner = document.get(container);
    if (isMap(inner) && inner.items.length === 0) document.delete(container);
    const { contents } = document;
    const isEmpty = isMap(contents) && contents.items.length === 0;
    return isEmpty && !/^\s*#/m.test(text) ? "" : print(document, text);
  },
  render: ([container, name], value) => stringify({ [container]: { [name]: value } }),
};
