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
