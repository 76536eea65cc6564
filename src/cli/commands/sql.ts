// Owns: `troupe sql`: the query, and how rows are printed. Does not own: running it (bridges/sql).
import { text as textOf } from "node:stream/consumers";
import { type Command, Option } from "commander";
import type { Behaviour, Json, Sql, SqlResult } from "../../core/contract/index.ts";
import { counted, omitUndefined } from "../../core/contract/internal.ts";
import { type Target, addDirectoryOptions } from "../actor-options.ts";
import { usage } from "../command-error.ts";
import { wholeNumber } from "../option-parsers.ts";
import { output, printLine, table } from "../output.ts";

interface SqlOptions extends Target {
  readonly csv?: boolean;
  readonly limit?: number;
  readonly views?: boolean;
  readonly module?: readonly string[];
}

const STANDARD = "-";
/** Characters of a long text in a table cell. */
const MAX_CELL = 80;

const sql = async (given: string | undefined, options: SqlOptions): Promise<void> => {
  if (options.engine !== undefined)
    throw usage('A cluster\'s history is in Restate: query it there ("restate sql"), or find actors with "troupe find".');
  await using open = new AsyncDisposableStack();
  const { module: modules } = options;
  const { openExportOrDirectory } = await import("../open-store.ts");
  const { path: directory } = await openExportOrDirectory(options.data, open);
  const run = async (kinds: readonly Behaviour[]): Promise<void> => {
    const { sqliteSql } = await import("../../bridges/sql/index.ts");
    const source = sqliteSql({ directory, kinds: () => kinds });
    if (options.views === true) return await showViews(source, options);
    if (given === undefined && process.stdin.isTTY) throw usage('Give a query, as in troupe sql "SELECT * FROM actors", or --views.');
    const query = given === undefined || given === STANDARD ? await textOf(process.stdin) : given;
    show(await source.query({ sql: query, ...omitUndefined({ limit: options.limit }) }), options);
  };
  if (modules === undefined) return await run([]);
  await (await import("../load-modules.ts")).withModules(modules, options, ({ parts }) => run(parts.flatMap(({ kinds }) => kinds)));
};

const showViews = async (source: Sql, options: SqlOptions): Promise<void> => {
  const out = output(options);
  for (const view of await source.views()) {
    out.value(view);
    out.text(
      () =>
        `${view.name}: ${view.what}\n${table(
          ["  column", "type", ""],
          view.columns.map(({ name, type, what = "" }) => [`  ${name}`, type, what]),
        )}\n`,
    );
  }
};

const show = (result: SqlResult, options: SqlOptions): void => {
  const { columns, rows, cut, shortened = 0 } = result;
  if (options.csv === true) for (const line of [columns, ...rows]) printLine(line.map(csvCell).join(","));
  else
    output(options).show(result, () =>
      rows.length === 0
        ? "No rows."
        : table(
            columns,
            rows.map((row) => row.map(cell)),
          ),
    );
  if (options.json === true) return;
  const notes = [
    ...(cut === "rows" ? [`There are more than these ${counted(rows.length, "row")}: add conditions, or LIMIT and OFFSET.`] : []),
    ...(cut === "size" ? ["There are more rows than fit: select fewer columns, or add LIMIT and OFFSET."] : []),
    ...(shortened > 0 ? [`${counted(shortened, "value")} of more than 65,536 characters were shortened.`] : []),
  ];
  for (const note of notes) process.stderr.write(`${note}\n`);
};

const textIn = (value: Json): string => (value === null ? "" : typeof value === "string" ? value : JSON.stringify(value));

const cell = (value: Json): string => {
  const text = textIn(value);
  return text.length > MAX_CELL ? `${text.slice(0, MAX_CELL - 1)}…` : text;
};

/** RFC 4180. */
const csvCell = (value: Json): string => {
  const text = textIn(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

export const register = (program: Command): void => {
  addDirectoryOptions(
    program
      .command("sql")
      .description(
        "Query actors, events and messages in SQL: of a data directory, also next to a running server, or of a file that troupe export wrote (--data file).",
      )
      .argument("[query]", "one SELECT over the views; absent, or -: from standard input"),
  )
    .addOption(new Option("--csv", "comma-separated values, with a head").conflicts("json"))
    .option("--limit <n>", "at most so many rows, up to 1000", wholeNumber(1))
    .option("--views", "list the views and their columns instead")
    .option("--module <module...>", "show the arguments of messages to its kinds, unless these have secrets (default: hidden)")
    .action(sql);
};
