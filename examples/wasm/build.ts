// AssemblyScript → core module → its exports under the world's names → component.
// Arguments: folders of guests; without any, all of them. `--into DIR`: components are written there instead of next to their sources.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { componentEmbed, componentNew } from "@bytecodealliance/jco-transpile/wasm-tools";
import asc from "assemblyscript/asc";
import binaryen from "binaryen";

const here = import.meta.dirname;
const repository = resolve(here, "../..");

/** The interface of each exported function. AssemblyScript cannot export names such as `theater:simple/actor#init`. */
const INTERFACES = {
  actor: ["init"],
  "message-server-client": ["handleSend", "handleRequest", "handleChannelOpen", "handleChannelMessage", "handleChannelClose"],
  "supervisor-handlers": ["handleChildError", "handleChildExit", "handleChildExternalStop"],
};

const kebabCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

async function compiled(folder: string): Promise<Uint8Array> {
  const source = relative(repository, join(folder, `${basename(folder)}.ts`));
  const options = ["--baseDir", repository, "--runtime", "stub", "--use", "abort=", "-O3", "--shrinkLevel", "2", "--converge"];
  let core: Uint8Array | undefined;
  const writeFile = (_name: string, contents: Uint8Array): void => void (core = contents);
  const { error, stderr } = await asc.main([source, "--outFile", "core.wasm", ...options], { writeFile });
  if (error !== null || core === undefined) throw new Error(stderr.toString());
  return core;
}

/** Renames the exports of the module as the component model requires. */
function renamed(core: Uint8Array, witPackage: string): Uint8Array {
  const module = binaryen.readBinary(core);
  try {
    for (const [name, functions] of Object.entries(INTERFACES))
      for (const each of functions) {
        const ref = module.getExport(each);
        if (ref === 0) continue;
        const theirs = `${witPackage}/${name}#${kebabCase(each)}`;
        const { value } = binaryen.getExportInfo(ref);
        module.removeExport(each);
        module.addFunctionExport(value, theirs);
        module.addFunctionExport(binaryen.getExportInfo(module.getExport("post")).value, `cabi_post_${theirs}`);
      }
    module.removeExport("post");
    return module.emitBinary();
  } finally {
    module.dispose();
  }
}

/** The world of a guest. It belongs to Theater's package unless it declares its own. */
function worldOf(folder: string): { readonly wit: string; readonly witPackage: string } {
  const own = readFileSync(join(folder, "world.wit"), "utf8");
  const wit = /^package /m.test(own) ? own : `${readFileSync(join(here, "wit/theater.wit"), "utf8")}\n${own}`;
  return { wit, witPackage: /^package ([^;]+);/m.exec(wit)?.[1] ?? "" };
}

async function build(folder: string, into: string): Promise<void> {
  const { wit, witPackage } = worldOf(folder);
  const embedded = await componentEmbed({ binary: renamed(await compiled(folder), witPackage), witSource: wit });
  const component = await componentNew(embedded);
  writeFileSync(join(into, `${basename(folder)}.wasm`), component);
  console.log(`${basename(folder)}: ${component.length} bytes`);
}

const guestsIn = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !["lib", "wit", "js-counter", "node_modules"].includes(entry.name))
    .map(({ name }) => join(folder, name))
    .toSorted();

const { values, positionals } = parseArgs({ options: { into: { type: "string" } }, allowPositionals: true });
const all = [...guestsIn(here), ...guestsIn(join(repository, "test/wasm/guests"))];
for (const folder of positionals.length > 0 ? positionals.map((each) => resolve(each)) : all) await build(folder, values.into ?? folder);
