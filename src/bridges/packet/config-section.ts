// Owns: reading one level of a configuration: typed values with defaults, unknown keys, all issues at once.
//   Does not own: which keys there are (config.ts).
import { isList, TroupeError } from "../../core/contract/index.ts";
import { closestMatch } from "../../core/contract/internal.ts";

/** What is wrong with a configuration, and where. */
interface ConfigIssue {
  /** Such as `mcp.servers.memory.args[0]`; empty: the configuration as a whole. */
  readonly path: string;
  readonly message: string;
}

// Bounds the error message for a file with many mistakes.
const MAX_REPORTED = 50;

/** Collects issues while everything is read, so that the user can fix them all at once. */
export class ConfigIssues {
  readonly #issues: ConfigIssue[] = [];
  #more = 0;

  add(path: string, message: string): undefined {
    if (this.#issues.length < MAX_REPORTED) this.#issues.push({ path, message });
    else this.#more += 1;
  }

  /** Throws `BAD_DEFINITION` that lists all issues, also as `data.issues`. */
  throwIfAny(): void {
    if (this.#issues.length === 0) return;
    const lines = this.#issues.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
    if (this.#more > 0) lines.push(`… and ${this.#more} more.`);
    const list = lines.length === 1 ? ` ${lines.join("")}` : `\n  ${lines.join("\n  ")}`;
    const issues = this.#issues.map(({ path, message }) => ({ path, message }));
    throw new TroupeError("BAD_DEFINITION", `The configuration is wrong.${list}`, { data: { issues } });
  }
}

type Members = Readonly<Record<string, unknown>>;

/** Rules for a map whose keys the user chooses. */
export interface MapRules {
  readonly pattern: RegExp;
  /** The issue for a key that does not match `pattern`. */
  readonly sentence: string;
  readonly maxChars: number;
  /** Values may contain control characters except NUL: a PEM key has line feeds. */
  readonly multiline?: true;
}

/** One level of a configuration. */
export class ConfigSection {
  readonly #issues: ConfigIssues;
  readonly #path: string;
  readonly #members: Members;

  private constructor(issues: ConfigIssues, path: string, members: Members) {
    this.#issues = issues;
    this.#path = path;
    this.#members = members;
  }

  /** Undefined, with an issue: the value is not an object. Absent and `null` (an empty section in YAML) are an empty section. */
  static of(issues: ConfigIssues, path: string, value: unknown): ConfigSection | undefined {
    if (value === undefined || value === null) return new ConfigSection(issues, path, {});
    if (isMembers(value)) return new ConfigSection(issues, path, value);
    return issues.add(path, path === "" ? "It must be an object." : "Must be an object, or absent.");
  }

  static empty(issues: ConfigIssues): ConfigSection {
    return new ConfigSection(issues, "", {});
  }

  /** Keys with a value: in code, `undefined` means absent. */
  get keys(): readonly string[] {
    return Object.keys(this.#members).filter((key) => this.has(key));
  }

  has(key: string): boolean {
    return Object.hasOwn(this.#members, key) && this.#members[key] !== undefined;
  }

  /** Adds an issue for each other key. */
  allowOnly(...allowed: readonly string[]): void {
    for (const key of this.keys) {
      if (allowed.includes(key)) continue;
      this.addIssue(key, `There is no such key.${hint(key, allowed)} Here may be: ${allowed.join(", ")}.`);
    }
  }

  addIssue(key: string, message: string): undefined {
    return this.#issues.add(this.#pathOf(key), message);
  }

  section(key: string): ConfigSection | undefined {
    return ConfigSection.of(this.#issues, this.#pathOf(key), this.#get(key));
  }

  text(key: string, fallback: string, maxChars: number): string {
    return this.optionalText(key, maxChars) ?? fallback;
  }

  /** One to `maxChars` characters, without control characters. */
  optionalText(key: string, maxChars: number): string | undefined {
    const value = this.#get(key);
    if (value === undefined || isText(value, maxChars)) return value;
    return this.addIssue(key, `Must be text of 1 to ${maxChars} characters on one line${quoted(value)}.`);
  }

  flag(key: string, fallback: boolean): boolean {
    const value = this.#get(key);
    if (value === undefined) return fallback;
    if (typeof value === "boolean") return value;
    this.addIssue(key, "Must be true or false.");
    return fallback;
  }

  /** An integer from 1 to `most`. `unit` describes it in the issue. */
  count(key: string, fallback: number, most: number, unit = "a whole number"): number {
    const value = this.#get(key);
    if (value === undefined) return fallback;
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= 1 && value <= most) return value;
    this.addIssue(key, `Must be ${unit} from 1 to ${most}.`);
    return fallback;
  }

  choice<T extends string>(key: string, fallback: T, choices: readonly T[]): T {
    const value = this.#get(key);
    if (value === undefined) return fallback;
    const chosen = choices.find((one) => one === value);
    if (chosen !== undefined) return chosen;
    this.addIssue(key, `Must be one of ${choices.join(", ")}.${typeof value === "string" ? hint(value, choices) : ""}`);
    return fallback;
  }

  /** Undefined: absent, or wrong. Adds an issue for each wrong item. */
  texts(key: string, maxItems: number, maxChars: number): readonly string[] | undefined {
    const value = this.#get(key);
    if (value === undefined) return undefined;
    if (!isList(value) || value.length > maxItems) return this.addIssue(key, `Must be a list of at most ${maxItems} texts.`);
    return value.flatMap((item, at) => {
      if (isMultilineText(item, maxChars)) return [item];
      this.#issues.add(`${this.#pathOf(key)}[${at}]`, `Must be text of 1 to ${maxChars} characters${quoted(item)}.`);
      return [];
    });
  }

  /** Undefined: absent, or wrong. Adds an issue for each wrong member. */
  textMap(key: string, rules: MapRules): Readonly<Record<string, string>> | undefined {
    if (!this.has(key)) return undefined;
    const section = this.section(key);
    return section && Object.fromEntries(section.keys.flatMap((name) => section.#named(name, rules)));
  }

  is(key: string, value: unknown): boolean {
    return this.#get(key) === value;
  }

  isList(key: string): boolean {
    return isList(this.#get(key));
  }

  #named(name: string, { pattern, sentence, maxChars, multiline }: MapRules): readonly (readonly [string, string])[] {
    if (!pattern.test(name)) this.addIssue(name, sentence);
    const value = this.#get(name);
    const fits = multiline === true ? isMultilineText : isText;
    // An empty value may be intended, unlike an empty name.
    if (value === "" || fits(value, maxChars)) return [[name, value]];
    this.addIssue(name, `Must be text of at most ${maxChars} characters${multiline === true ? "" : " on one line"}${quoted(value)}.`);
    return [];
  }

  #get(key: string): unknown {
    return Object.hasOwn(this.#members, key) ? this.#members[key] : undefined;
  }

  #pathOf(key: string): string {
    const step = /^[A-Za-z_][\w-]*$/.test(key) && key.length <= 100 ? key : `[${JSON.stringify(key.slice(0, 100))}]`;
    return this.#path === "" || step.startsWith("[") ? this.#path + step : `${this.#path}.${step}`;
  }
}

function hint(given: string, known: readonly string[]): string {
  const closest = closestMatch(given, known);
  return closest === undefined ? "" : ` Did you mean ${closest}?`;
}

const isMembers = (value: unknown): value is Members => typeof value === "object" && value !== null && !Array.isArray(value);

const isMultilineText = (value: unknown, maxChars: number): value is string =>
  typeof value === "string" && value !== "" && value.length <= maxChars && value.isWellFormed() && !value.includes("\0");

const isText = (value: unknown, maxChars: number): value is string => isMultilineText(value, maxChars) && !/\p{Cc}/u.test(value);

/** YAML reads `version: 1.0` and `debug: yes` as a number and a boolean. */
const quoted = (value: unknown): string => (typeof value === "number" || typeof value === "boolean" ? `: write "${value}", in quotes` : "");
