import { styleText } from "node:util";
import type { Json } from "../core/contract/index.ts";

/** Where a command writes: people get text, machines one JSON value per line. */
export interface Output {
  readonly json: boolean;
  /** A result: the JSON for machines, the text for people. */
  show(value: Json | object, text: () => string): void;
  /** For machines only. */
  value(value: object): void;
  /** For people only. */
  text(text: () => string): void;
  /** Progress and hints: people only, on standard error. */
  note(text: string): void;
}

/** Colours where there is a terminal that has them, and NO_COLOR does not forbid it. */
export type Painter = (style: "bold" | "dim" | "green" | "red" | "yellow" | "cyan", text: string) => string;

const painter =
  (stream: NodeJS.WriteStream): Painter =>
  (style, text) =>
    styleText(style, text, { stream });

/** For the standard output. */
export const paint = painter(process.stdout);

/** For the standard error. */
export const paintError = painter(process.stderr);

let endFailed = (error: Error): never => {
  throw error;
};

/** How a command ends that cannot write its result. */
export const whenUnwritable = (end: (error: Error) => never): void => {
  endFailed = end;
};

/** Whoever reads may stop reading, as `head` does: what is left is for nobody, and no failure. A full disk is one. */
const endWithReader = (error: NodeJS.ErrnoException): void => {
  if (error.code !== "EPIPE") endFailed(error);
  process.exit(process.exitCode ?? 0);
};

let hasPrinted = false;

/** A command's result on the standard output. */
export const print = (text: string): void => {
  hasPrinted = true;
  if (!process.stdout.listeners("error").includes(endWithReader)) process.stdout.on("error", endWithReader);
  process.stdout.write(text);
};

/** Settles when a command's result has left: a pipe takes no more than its reader, and what it did not take would end with the process. */
export const printed = async (): Promise<void> => {
  if (hasPrinted) await new Promise<void>((left) => process.stdout.write("", () => left()));
};

/** One line of it. */
export const printLine = (line: string): void => print(`${line}\n`);

/** From here on whoever reads one of these streams may go, and what is written there afterwards is for nobody. */
export const bearGoneReaders = (...streams: readonly NodeJS.WriteStream[]): void => {
  for (const stream of streams) stream.on("error", () => undefined);
};

export const output = ({ json = false }: { readonly json?: boolean }): Output => ({
  json,
  show(value, text) {
    printLine(json ? JSON.stringify(value) : text());
  },
  value(value) {
    if (json) printLine(JSON.stringify(value));
  },
  text(text) {
    if (!json) printLine(text());
  },
  note(text) {
    if (!json) process.stderr.write(`${text}\n`);
  },
});

const escaped = (sign: string): string => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`;

/**
 * What others wrote (states, arguments, replies, reasons), for people: a terminal obeys control characters, and shows what is
 * put between some in another order than it stands, so they are shown as JSON escapes. Lines and tabs stay.
 */
export const visible = (text: string): string => text.replace(/(?![\t\n])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, escaped);

/** The same on one line. */
export const oneLine = (text: string): string => visible(text).replace(/[\t\n]/g, escaped);

/** A value as one short line. */
export const short = (value: unknown): string => {
  const text = JSON.stringify(value) ?? "";
  return visible(text.length > 100 ? `${text.slice(0, 99)}…` : text);
};

/** `1 kind of actors`, `2 kinds of actors`. */
export const counted = (count: number, one: string, rest = ""): string => `${count} ${one}${count === 1 ? "" : "s"}${rest}`;

/** Columns as wide as their widest cell; the last one is left as it is. */
export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string => {
  const shown = rows.map((row) => row.map(oneLine));
  const widths = head.map((cell, column) => shown.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), cell.length));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => (column === cells.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join("  ")
      .trimEnd();
  return [paint("dim", line(head)), ...shown.map(line)].join("\n");
};

/** How a command says that it failed, on standard error. */
export const failureLine = (json: boolean | undefined, code: string, message: string): string =>
  json === true ? JSON.stringify({ error: { code, message } }) : `troupe: ${visible(message)}`;

/** The standard output, kept for the command's own results. */
export interface HeldOutput {
  print(text: string): void;
  /** Everybody may write there again. */
  release(): void;
}

/**
 * From here on what modules print goes to the standard error: on the standard output a
 * client or a script reads lines that mean something.
 */
export const holdOutput = (): HeldOutput => {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  return {
    print: (text) => void write(text),
    release: () => {
      stdout.write = write;
    },
  };
};

/** A text field, or what to say instead. */
export const textOr = (value: Json | undefined, otherwise: string): string => (typeof value === "string" ? value : otherwise);
