// Owns: the console's palette. It opens at once, and keys go to it, while its commands (command-palette/) are loaded.
import { useEffect, useMemo, useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import type * as commandModule from "./command-palette/commands.ts";
import { type Command, Palette } from "./ui/palette.tsx";

export function CommandPalette({
  close,
  help,
  connect,
}: {
  readonly close: () => void;
  readonly help: () => void;
  readonly connect: () => void;
}) {
  const [, go] = useLocation();
  const [loaded, setLoaded] = useState<typeof commandModule | undefined>(undefined);
  useEffect(() => void import("./command-palette/commands.ts").then(setLoaded), []);
  const commands = useMemo(() => loaded?.commandsOf(go, help, connect), [loaded, go, help, connect]);
  const search = useMemo(
    () =>
      loaded === undefined
        ? undefined
        : (text: string, signal: AbortSignal): Promise<readonly Command[]> => loaded.searchActors(go, text, signal),
    [loaded, go],
  );
  return <Palette commands={commands} search={search} close={close} />;
}
