// Preloaded into a command: says on standard error, as it ends, which parts of this package and which others it has loaded.
import { registerHooks } from "node:module";

const loaded = new Set<string>();

registerHooks({
  load(url, context, next) {
    const [, own, dependency] = /\/src\/([a-z]+)\/|\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url) ?? [];
    const part = own ?? dependency;
    if (part !== undefined) loaded.add(part);
    return next(url, context);
  },
});

process.on("exit", () => process.stderr.write(`loaded ${[...loaded].toSorted().join(" ")}\n`));
