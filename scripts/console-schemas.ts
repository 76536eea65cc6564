// JSON Schemas of the types in the console's shapes folder, for its OpenAPI document. It knows the few forms of types that are used there.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAst } from "rolldown/parseAst";

const root = join(import.meta.dirname, "..");
const SHAPES = globSync("src/bridges/console/shapes/*.ts", { cwd: root }).toSorted();

interface Node {
  readonly type: string;
  readonly start: number;
  readonly [name: string]: unknown;
}

type Schema = Readonly<Record<string, unknown>>;
type Bindings = ReadonlyMap<string, Schema>;

interface Declared {
  readonly node: Node;
  readonly text: string;
}

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && "type" in value && "start" in value;

const child = (node: Node, name: string): Node => {
  const value = node[name];
  if (!isNode(value)) throw new Error(`${node.type} has no ${name}.`);
  return value;
};
const children = (node: Node | undefined, name: string): readonly Node[] => {
  const value = node?.[name];
  return Array.isArray(value) ? value.filter(isNode) : [];
};
const nameOf = (node: Node, name = "id"): string => String(child(node, name)["name"] ?? child(node, name)["value"]);

/** The text of the comment that ends where a node begins. */
const commentBefore = (text: string, at: number): string | undefined => {
  const before = text
    .slice(0, at)
    .replace(/(?:export\s+|readonly\s+)+$/, "")
    .trimEnd();
  if (!before.endsWith("*/")) return undefined;
  const comment = before.slice(before.lastIndexOf("/**") + 3, -2);
  return comment.replaceAll(/\s*\n\s*\*\s?/g, " ").trim();
};

/** The types of a file by name, those that are not exported too. */
const declarationsIn = (file: string): readonly (readonly [string, Declared])[] => {
  const text = readFileSync(join(root, file), "utf8");
  const program: unknown = parseAst(text, { lang: "ts" });
  if (!isNode(program)) throw new Error(`${file} cannot be parsed.`);
  return children(program, "body").flatMap((statement) => {
    const node = isNode(statement["declaration"]) ? statement["declaration"] : statement;
    return node.type === "TSInterfaceDeclaration" || node.type === "TSTypeAliasDeclaration"
      ? [[nameOf(node), { node, text }] as const]
      : [];
  });
};

class Schemas {
  readonly #declared = new Map([...globSync("src/core/contract/*.ts", { cwd: root }), ...SHAPES].flatMap(declarationsIn));
  readonly #made = new Map<string, Schema>();

  all(): Schema {
    for (const [name, { node }] of SHAPES.flatMap(declarationsIn))
      if (!("typeParameters" in node) || node["typeParameters"] === null) this.#reference(name);
    return Object.fromEntries(this.#made);
  }

  #reference(name: string): Schema {
    const declared = this.#declared.get(name);
    if (declared === undefined) throw new Error(`Nothing is known of the type ${name}.`);
    if (!this.#made.has(name)) {
      // For types that contain themselves.
      this.#made.set(name, {});
      this.#made.set(name, this.#declaration(declared, new Map()));
    }
    return { $ref: `#/definitions/${name}` };
  }

  #declaration({ node, text }: Declared, bound: Bindings): Schema {
    const description = commentBefore(text, node.start);
    const schema =
      node.type === "TSTypeAliasDeclaration"
        ? this.#type(child(node, "typeAnnotation"), text, bound)
        : this.#interface({ node, text }, bound);
    return description === undefined ? schema : { ...schema, description };
  }

  #interface({ node, text }: Declared, bound: Bindings): Schema {
    const own = this.#members(children(child(node, "body"), "body"), text, bound);
    const properties: Record<string, unknown> = {};
    const required: unknown[] = [];
    for (const parent of children(node, "extends")) {
      const base = this.#declared.get(nameOf(parent, "expression"));
      if (base === undefined) throw new Error(`Nothing is known of ${nameOf(parent, "expression")}.`);
      const { properties: theirs, required: needed } = this.#interface(base, this.#bindings(base.node, parent, text, bound));
      Object.assign(properties, theirs);
      if (Array.isArray(needed)) required.push(...needed);
    }
    Object.assign(properties, own.properties);
    // A member that is declared again, for another comment or a narrower type, is still named once.
    return { type: "object", properties, required: [...new Set([...required, ...own.required])], additionalProperties: false };
  }

  #bindings(declared: Node, use: Node, text: string, bound: Bindings): Bindings {
    const given = isNode(use["typeArguments"]) ? children(use["typeArguments"], "params") : [];
    const names = isNode(declared["typeParameters"]) ? children(declared["typeParameters"], "params") : [];
    return new Map(names.map((one, at) => [nameOf(one, "name"), given[at] === undefined ? {} : this.#type(given[at], text, bound)]));
  }

  #members(members: readonly Node[], text: string, bound: Bindings) {
    const properties: Record<string, Schema> = {};
    const required: string[] = [];
    for (const member of members) {
      const name = nameOf(member, "key");
      const schema = this.#type(child(child(member, "typeAnnotation"), "typeAnnotation"), text, bound);
      const description = commentBefore(text, member.start);
      properties[name] = description === undefined ? schema : { ...schema, description };
      if (member["optional"] !== true) required.push(name);
    }
    return { properties, required };
  }

  #type(node: Node, text: string, bound: Bindings): Schema {
    switch (node.type) {
      case "TSStringKeyword":
        return { type: "string" };
      case "TSNumberKeyword":
        return { type: "number" };
      case "TSBooleanKeyword":
        return { type: "boolean" };
      case "TSNullKeyword":
        return { type: "null" };
      case "TSUnknownKeyword":
        return {};
      case "TSTemplateLiteralType":
        return { type: "string" };
      case "TSLiteralType":
        return { const: child(node, "literal")["value"] };
      case "TSArrayType":
        return { type: "array", items: this.#type(child(node, "elementType"), text, bound) };
      case "TSTypeOperator":
      case "TSParenthesizedType":
        return this.#type(child(node, "typeAnnotation"), text, bound);
      case "TSTypeLiteral": {
        const [first] = children(node, "members");
        if (first?.type === "TSIndexSignature")
          return { type: "object", additionalProperties: this.#type(child(child(first, "typeAnnotation"), "typeAnnotation"), text, bound) };
        return { type: "object", ...this.#members(children(node, "members"), text, bound), additionalProperties: false };
      }
      case "TSUnionType": {
        const either = children(node, "types").map((one) => this.#type(one, text, bound));
        const constants = either.map((one) => one["const"]);
        return constants.every((one) => one !== undefined) ? { enum: constants } : { anyOf: either };
      }
      case "TSIndexedAccessType": {
        const { properties } = this.#type(child(node, "objectType"), text, bound);
        const found: unknown = Object(properties ?? this.#resolved(child(node, "objectType"))["properties"])[
          String(child(child(node, "indexType"), "literal")["value"])
        ];
        return Object(found);
      }
      case "TSTypeReference":
        return this.#named(node, text, bound);
      default:
        throw new Error(`The shapes have a form of type that this script does not know: ${node.type}.`);
    }
  }

  /** What a reference stands for. */
  #resolved(node: Node): Schema {
    return this.#made.get(nameOf(node, "typeName")) ?? {};
  }

  #named(node: Node, text: string, bound: Bindings): Schema {
    const name = nameOf(node, "typeName");
    const given = isNode(node["typeArguments"]) ? children(node["typeArguments"], "params") : [];
    const [first, second] = given;
    const own = bound.get(name);
    if (own !== undefined) return own;
    if (name === "Record" && second !== undefined) return { type: "object", additionalProperties: this.#type(second, text, bound) };
    if ((name === "Readonly" || name === "Partial" || name === "NonNullable") && first !== undefined) return this.#type(first, text, bound);
    const declared = this.#declared.get(name);
    if (first !== undefined && declared !== undefined) return this.#declaration(declared, this.#bindings(declared.node, node, text, bound));
    return this.#reference(name);
  }
}

/** JSON Schemas of everything that they export, by name. */
export const consoleSchemas = (): object => new Schemas().all();
