import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeWithProcess } from "./end-with-process.ts";

/** A folder of one's own until it is disposed of, or this process ends. */
export class TemporaryFolder implements AsyncDisposable {
  readonly path: string;
  readonly #gone: () => void;

  private constructor(path: string) {
    this.path = path;
    this.#gone = removeWithProcess(path);
  }

  static async make(prefix: string): Promise<TemporaryFolder> {
    return new TemporaryFolder(await mkdtemp(join(tmpdir(), prefix)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });
    this.#gone();
  }
}
