/** The parsed command line of a run. */
export interface Options {
  readonly names: readonly string[];
  /** Fewer and shorter rounds; long benches are left out. */
  readonly quick: boolean;
  /** The file to write rows to. Rows of benches that did not run stay. */
  readonly json?: string;
  /** Prints each figure next to that of the committed baseline. */
  readonly compare: boolean;
  /** Runs nothing: writes the tables of docs/benchmarks.md and README from the committed baseline. */
  readonly readme: boolean;
  readonly help: boolean;
}

/** What a single bench needs to know of them. */
export type BenchOptions = Pick<Options, "quick">;

export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** `known` has the names of all benches in the order of execution. Without a name in `args`, all run. Throws a UsageError with the usage. */
export const parseOptions = (args: readonly string[], known: readonly string[]): Options => {
  const wanted = new Set<string>();
  let [quick, compare, readme, help] = [false, false, false, false];
  let json: string | undefined;
  const left = args.values();
  for (const arg of left) {
    if (arg === "--quick") quick = true;
    else if (arg === "--compare") compare = true;
    else if (arg === "--readme") readme = true;
    else if (arg === "--help") help = true;
    else if (arg === "--json") {
      const file: string | undefined = left.next().value;
      if (file === undefined || file.startsWith("--")) throw new UsageError(`--json needs the name of a file.\n\n${usage(known)}`);
      json = file;
    } else if (known.includes(arg)) wanted.add(arg);
    else throw new UsageError(`There is no ${arg.startsWith("-") ? "option" : "bench"} ${arg}.\n\n${usage(known)}`);
  }
  const names = wanted.size === 0 ? known : known.filter((name) => wanted.has(name));
  return { names, quick, compare, readme, help, ...(json === undefined ? {} : { json }) };
};

export const usage = (known: readonly string[]): string =>
  [
    "npm run bench [-- NAME… OPTION…]",
    "",
    "  --quick      fewer and shorter rounds, smaller stores, two minutes for all instead of twenty; programs of others and guests are left out",
    "  --json FILE  write the rows of the benches that ran to FILE, which keeps the rows of others",
    "  --readme     write the tables of docs/benchmarks.md and README from bench/baseline.json, and run nothing",
    "  --compare    show each figure next to that of bench/baseline.json, and the change in per cent",
    "",
    "OVER marks a figure beyond its limit; it does not fail the run. `floor` is what the least that can do it reaches in the same run.",
    "",
    `Names: ${known.join(", ")}`,
  ].join("\n");
