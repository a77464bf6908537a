/** [P] Times as the API has them, and as a control shows them. */

/** A time as the control shows it: in UTC, and no finer than necessary. Other text is returned unchanged. */
export function utcInput(time: string): string {
  const ms = Date.parse(time);
  return Number.isNaN(ms) ? time : shorten(new Date(ms).toISOString().slice(0, -1));
}

/** Without seconds where there are none: browsers leave them out. */
export function shorten(input: string): string {
  return input
    .replace(/(\.\d*?)0+$/, '$1')
    .replace(/\.$/, '')
    .replace(/^(.*T\d{2}:\d{2}):00$/, '$1');
}

/** The control's text as an API time. The API validates anything else. */
export function timeOfInput(input: string): string {
  if (/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}$/.test(input)) return `${input}:00Z`;
  return /T[\d:.]+$/.test(input) ? `${input}Z` : input;
}

/** Milliseconds since the epoch; undefined where it is no time. */
export function postedTime(time: string | undefined): number | undefined {
  const ms = time === undefined ? NaN : Date.parse(time);
  return Number.isNaN(ms) ? undefined : ms;
}
