// Owns: the line above all pages: the server's name, search, theme, signing out, and the keys that work everywhere.
import { lazy, Suspense } from "preact/compat";
import { useEffect } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { Link, useLocation } from "wouter-preact";
import type { About } from "../../src/bridges/console/shapes.ts";
import { BASE } from "./base-path.ts";
import { CommandPalette } from "./command-palette.tsx";
import { signOut } from "./session.ts";
import { isMac, listenForShortcuts } from "./shortcuts.ts";
import { cycleTheme, theme } from "./theme.ts";
import { KeyboardHelp } from "./ui/keyboard-help.tsx";

const ConnectDialog = lazy(async () => (await import("./connect-dialog.tsx")).ConnectDialog);

const THEMES = { system: ["◐", "Theme: as the system's"], light: ["☀", "Theme: light"], dark: ["☾", "Theme: dark"] } as const;

export function TopBar({ about: { name, mode, development, mcp } }: { readonly about: About }) {
  const [, go] = useLocation();
  const open = useSignal<"palette" | "help" | "connect" | undefined>(undefined);
  useEffect(() => {
    const show = (what: "palette" | "help"): void => {
      open.value = open.value === what ? undefined : what;
    };
    return listenForShortcuts({ open: (path) => go(path), palette: () => show("palette"), help: () => show("help") });
  }, [go, open]);
  const close = (): void => {
    open.value = undefined;
  };
  const [icon, label] = THEMES[theme.value];
  return (
    <header class="top">
      <Link href="/" class="brand">
        <img src={`${BASE}/icon.svg`} alt="" width="22" height="22" /> <span>{name}</span>
      </Link>
      {mode === "offline" ? <span class="badge warning">read only</span> : development ? <span class="badge">dev</span> : null}
      <span class="grow" />
      <button type="button" class="open-palette" aria-haspopup="dialog" onClick={() => (open.value = "palette")}>
        <span>Search</span>
        <kbd class="wide" aria-hidden="true">
          {isMac ? "⌘" : "Ctrl"}
        </kbd>
        <kbd class="wide" aria-hidden="true">
          K
        </kbd>
      </button>
      {mcp === undefined ? null : (
        <button type="button" class="wide" aria-haspopup="dialog" onClick={() => (open.value = "connect")}>
          Connect …
        </button>
      )}
      <button type="button" class="quiet icon" aria-label={label} title={label} onClick={cycleTheme}>
        {icon}
      </button>
      <button
        type="button"
        class="quiet icon wide"
        aria-label="Keyboard shortcuts"
        title="Keyboard shortcuts"
        onClick={() => (open.value = "help")}
      >
        ?
      </button>
      <button type="button" class="quiet wide" onClick={() => signOut()}>
        Sign out
      </button>
      <button type="button" class="quiet icon narrow-only" aria-label="More" title="More" popovertarget="more-actions">
        ⋯
      </button>
      {/* On narrow screens, what has no room in the line. A press outside or Escape closes it. */}
      <div id="more-actions" class="more-actions" popover="auto">
        {mcp === undefined ? null : <MenuItem text="Connect …" run={() => (open.value = "connect")} />}
        <MenuItem text="Keyboard shortcuts" run={() => (open.value = "help")} />
        <MenuItem text="Sign out" run={() => signOut()} />
      </div>
      {open.value === "palette" ? (
        <CommandPalette close={close} help={() => (open.value = "help")} connect={() => (open.value = "connect")} />
      ) : open.value === "connect" ? (
        <Suspense fallback={null}>
          <ConnectDialog close={close} />
        </Suspense>
      ) : open.value === "help" ? (
        <KeyboardHelp close={close} />
      ) : null}
    </header>
  );
}

const MenuItem = ({ text, run }: { readonly text: string; readonly run: () => void }) => (
  <button type="button" popovertarget="more-actions" popovertargetaction="hide" onClick={run}>
    {text}
  </button>
);
