import type { Json } from "../contract/index.ts";
import { canonical } from "../contract/internal.ts";

interface Wrong {
  readonly keyword: string;
  readonly message: string;
  readonly params: { readonly i: number; readonly j: number };
}

interface Check {
  (items: readonly Json[]): boolean;
  errors?: Wrong[];
}

interface Compiler {
  removeKeyword(keyword: string): unknown;
  addKeyword(definition: {
    readonly keyword: string;
    readonly type: "array";
    readonly schemaType: "boolean";
    readonly errors: true;
    readonly compile: (isAsked: boolean) => Check;
  }): unknown;
}

/**
 * `uniqueItems` in time that grows with the list. Ajv's own compares each item of a list of objects with every other: who may send a
 * list of a hundred thousand could make the process stand still for minutes.
 */
export function withUniqueItems<C extends Compiler>(compiler: C): C {
  compiler.removeKeyword("uniqueItems");
  compiler.addKeyword({ keyword: "uniqueItems", type: "array", schemaType: "boolean", errors: true, compile: checkOf });
  return compiler;
}

function checkOf(isAsked: boolean): Check {
  if (!isAsked) return () => true;
  const check: Check = (items) => {
    const places = new Map<string, number>();
    for (const [j, item] of items.entries()) {
      const text = canonical(item);
      const i = places.get(text);
      if (i !== undefined) {
        const message = `must NOT have duplicate items (items ## ${i} and ${j} are identical)`;
        check.errors = [{ keyword: "uniqueItems", message, params: { i, j } }];
        return false;
      }
      places.set(text, j);
    }
    return true;
  };
  return check;
}
