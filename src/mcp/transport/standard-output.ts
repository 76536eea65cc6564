export interface StandardOutput {
  readonly write: (data: string | Uint8Array, flushed?: () => void) => void;
  /** Everybody may write there again. */
  readonly release: () => void;
}

/**
 * Takes the standard output for one writer. Whatever else writes there (a
 * `console.log` in a served module, a dependency's banner) goes to the standard
 * error instead: one stray line would end the protocol.
 */
export function guardStandardOutput(): StandardOutput {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  return {
    write: (data, flushed) => void write(data, flushed),
    release: () => {
      stdout.write = write;
    },
  };
}
