/** [P] Which of a batch's models a result is of, by the name that its provider writes into it. */

/**
 * The place of the name that was asked for; undefined: of none. A provider may answer with the version that a name stands
 * for: "claude-sonnet-4-5-20250929" for "claude-sonnet-4-5", or for "claude-sonnet-4-5-latest".
 */
export function servedName(asked: readonly string[], served: string | undefined): number | undefined {
  const exact = asked.indexOf(served ?? '');
  if (exact >= 0) return exact;
  const fitting = asked.filter((name) => served?.startsWith(`${stemOf(name)}-`) === true);
  if (fitting.length === 0) return undefined;
  return asked.indexOf(fitting.reduce((best, name) => (stemOf(name).length > stemOf(best).length ? name : best)));
}

/** What a name has in common with its versions. */
export function stemOf(name: string): string {
  return name.replace(/-(?:latest|0)$/, '');
}
