/** A part of scripts, with the names that it shares with the parts around it. */
export interface Fragment {
  /** The names from the parts before it, and from the keys and arguments of the script. */
  readonly needs: string;
  /** The names for the parts behind it. */
  readonly defines: string;
  readonly lua: string;
  /** The Lua in it that its user gives. It may need other names. */
  readonly given: string;
}

/** All of them: `npm run lua -- --check` compares their names with their Lua. */
export const FRAGMENTS: Fragment[] = [];

/** Lua, with the names that it needs and defines, each separated by a blank. */
export function fragment(needs: string, defines: string, given = '') {
  return (texts: TemplateStringsArray, ...values: readonly string[]): string => {
    const lua = texts.reduce((begun, text, i) => begun + (values[i - 1] ?? '') + text);
    FRAGMENTS.push({ needs, defines, lua, given });
    return lua;
  };
}
