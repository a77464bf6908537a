/** [P] Which of a batch's models a result is of, by the name that its provider writes into it. */

/** The date of a version: "claude-sonnet-4-5-20250929", or "claude-sonnet-4-5@20250929". */
const DATE = /[-@]\d{6,8}$/;
/** A name of the latest version, which may be any. */
const LATEST = /-latest$/;

/** Whether a result of one of the two models may be taken for one of the other. */
export function areConfusable(a: string, b: string): boolean {
  return mayBeServedAs(a, b) || mayBeServedAs(b, a);
}

/**
 * Whether the result of a request for `asked` may name `served`. A provider may respond with the version that a name
 * stands for: "claude-sonnet-4-5-20250929" for "claude-sonnet-4-5", or for "claude-sonnet-4-5-latest".
 */
export function mayBeServedAs(asked: string, served: string): boolean {
  const [own, other] = [stemOf(asked), stemOf(served)];
  if (own === other) return true;
  if (!other.startsWith(`${own}-`)) return false;
  return LATEST.test(asked) || !isNextNumber(own, other.slice(own.length + 1));
}

/** "claude-opus-4-1" is another model than "claude-opus-4", not a version of it. */
function isNextNumber(stem: string, rest: string): boolean {
  return /-\d$/.test(stem) && /^\d{1,2}(?:-|$)/.test(rest);
}

/** What a name has in common with its versions. */
function stemOf(name: string): string {
  return name.replace(DATE, '').replace(/-(?:latest|0)$/, '');
}
