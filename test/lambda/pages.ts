// The pages "a first server" and "deploying" (also on AWS): their files, and their commands.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

export const root = resolve(import.meta.dirname, "../..");

/** The pages that a reader follows in this order. */
export const PAGES = ["first-server.md", "deploy.md", "deploy-aws.md"];

export interface Block {
  readonly language: string;
  readonly text: string;
  /** The file name in the block's first line: `// hello.ts`, `# Dockerfile`. */
  readonly file: string | undefined;
}

export const blocksOf = (page: string): readonly Block[] => {
  const text = readFileSync(join(root, "docs/guide", page), "utf8");
  return Array.from(text.matchAll(/```(\w+)\n([\s\S]*?)\n```/g), ([, language = "", inner = ""]) => ({
    language,
    text: inner,
    file: language === "sh" ? undefined : /^(?:\/\/|#) (\S+)\n/.exec(inner)?.[1],
  }));
};

/** The line of a command of a page that contains this. */
export const lineWith = (page: string, part: string): string => {
  const line = blocksOf(page)
    .filter(({ language }) => language === "sh")
    .flatMap(({ text }) => text.split("\n"))
    .find((one) => one.includes(part));
  if (line === undefined) throw new Error(`${page} has no command with ${part}`);
  return line;
};
