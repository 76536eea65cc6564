import type { Shape, Signature } from "./shape.ts";

/** Enough for the largest type of Theater's world, printed whole. */
const MAX_CHARACTERS = 1_000;

/** Stops where it has printed enough: a type of a few bytes may stand for one of gigabytes. */
class Text {
  text = "";

  add(part: string): boolean {
    if (this.text.length < MAX_CHARACTERS) this.text += part;
    return this.text.length < MAX_CHARACTERS;
  }

  list(open: string, close: string, parts: Shape["parts"], part: (part: Shape["parts"][number]) => void): void {
    this.add(open);
    for (const [at, each] of parts.entries()) {
      if (!this.add(at === 0 ? "" : ", ")) break;
      part(each);
    }
    this.add(close);
  }

  shape(shape: Shape | undefined): void {
    if (shape === undefined) this.add("_");
    else if (shape.form === "record")
      this.list("record { ", " }", shape.parts, ([name, type]) => {
        if (this.add(`${name}: `)) this.shape(type);
      });
    else if (shape.form === "enum" || shape.form === "flags")
      this.list(`${shape.form} { `, " }", shape.parts, ([name]) => void this.add(name));
    else if (shape.form === "variant")
      this.list("variant { ", " }", shape.parts, ([name, type]) => {
        if (this.add(name) && type !== undefined) this.list("(", ")", [["", type]], ([, inner]) => this.shape(inner));
      });
    else if (shape.form === "result") this.result(shape.parts[0]?.[1], shape.parts[1]?.[1]);
    else if (shape.parts.length === 0) this.add(shape.form);
    else
      this.list(`${shape.form}<`, ">", shape.parts, ([, type]) => {
        if (this.text.length < MAX_CHARACTERS) this.shape(type);
      });
  }

  result(ok: Shape | undefined, err: Shape | undefined): void {
    if (ok === undefined && err === undefined) this.add("result");
    else if (this.add("result<")) {
      this.shape(ok);
      if (err !== undefined && this.add(", ")) this.shape(err);
      this.add(">");
    }
  }
}

/** As WIT has it, `func(state: option<list<u8>>) -> result<_, string>`, records and enums written out; cut off with `…` after 1,000 characters. */
export function printFunction({ params, result }: Signature): string {
  const text = new Text();
  text.list("func(", ")", params, ([name, type]) => {
    if (text.add(`${name}: `)) text.shape(type);
  });
  if (result !== undefined && text.add(" -> ")) text.shape(result);
  return text.text.length < MAX_CHARACTERS ? text.text : `${text.text.slice(0, MAX_CHARACTERS).toWellFormed()}…`;
}
