// Builds guest/counter.wasm: AssemblyScript → core module → its exports under the names of the world → component.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { componentEmbed, componentNew } from "@bytecodealliance/jco-transpile/wasm-tools";
import asc from "assemblyscript/asc";
import binaryen from "binaryen";

const NAME = "counter";
const folder = join(import.meta.dirname, "guest");

/** What a guest may export, by interface. AssemblyScript cannot write a name such as `theater:simple/actor#init` itself. */
const INTERFACES = {
  actor: ["init"],
  "message-server-client": ["handleSend", "handleRequest", "handleChannelOpen", "handleChannelMessage", "handleChannelClose"],
  "supervisor-handlers": ["handleChildError", "handleChildExit", "handleChildExternalStop"],
};

async function compile(): Promise<Uint8Array> {
  let core: Uint8Array | undefined;
  const writeFile = (_name: string, contents: string | Uint8Array): void => {
    if (typeof contents !== "string") core = contents;
  };
  // `stub` is the runtime that never frees: the host takes back all that a call allocated (lib/abi.ts).
  const options = ["--baseDir", folder, "--runtime", "stub", "--use", "abort=", "-O3", "--shrinkLevel", "2", "--converge"];
  const { error, stderr } = await asc.main([`${NAME}.ts`, "--outFile", "core.wasm", ...options], { writeFile });
  if (error !== null || core === undefined) throw new Error(stderr.toString());
  return core;
}

function rename(core: Uint8Array, witPackage: string): Uint8Array {
  const module = binaryen.readBinary(core);
  try {
    const { value: post } = binaryen.getExportInfo(module.getExport("post"));
    for (const [name, functions] of Object.entries(INTERFACES))
      for (const each of functions) {
        const ref = module.getExport(each);
        if (ref === 0) continue;
        const exported = `${witPackage}/${name}#${each.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
        const { value } = binaryen.getExportInfo(ref);
        module.removeExport(each);
        module.addFunctionExport(value, exported);
        module.addFunctionExport(post, `cabi_post_${exported}`);
      }
    module.removeExport("post");
    return module.emitBinary();
  } finally {
    module.dispose();
  }
}

console.log(`Building guest/${NAME}.wasm …`);
const wit = `${readFileSync(join(folder, "theater.wit"), "utf8")}\n${readFileSync(join(folder, "world.wit"), "utf8")}`;
const witPackage = /^package ([^;]+);/m.exec(wit)?.[1] ?? "";
const embedded = await componentEmbed({ binary: rename(await compile(), witPackage), witSource: wit });
writeFileSync(join(folder, `${NAME}.wasm`), await componentNew(embedded));
