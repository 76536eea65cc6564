// Owns: what the fields of a form share: the form's schema and mistakes, and the properties of a field. Does not own: drawing fields.
import { createContext } from "preact";
import type { Json, JsonObject } from "../../../../src/core/contract/index.ts";
import { type Mistakes, NO_MISTAKES } from "./check.ts";

export const FormContext = createContext<{
  readonly root: JsonObject;
  readonly mistakes: Mistakes;
  readonly choices: Readonly<Record<string, readonly string[]>>;
}>({ root: {}, mistakes: NO_MISTAKES, choices: {} });

export interface FieldProps {
  readonly schema: Json | undefined;
  readonly path: string;
  readonly name: string;
  readonly value: Json | undefined;
  /** Undefined: the member is left out. */
  readonly onChange: (value: Json | undefined) => void;
  readonly required: boolean;
  readonly depth: number;
  /** It is drawn inside its own group already. */
  readonly bare?: boolean;
}

/** With its schema resolved. */
export interface ResolvedProps extends Omit<FieldProps, "schema"> {
  readonly schema: JsonObject;
}

export const hintOf = (schema: JsonObject): string | undefined =>
  typeof schema["description"] === "string" ? schema["description"] : undefined;
