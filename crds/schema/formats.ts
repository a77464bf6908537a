/** [P] The formats of the API's strings that a schema names. */

/** By name; true: minimum and maximum say it all. */
export const FORMATS = { 'date-time': isDateTime, int32: true, int64: true } as const;

/**
 * A date and a time as Kubernetes' format date-time takes it: a calendar day, "T" in either case, hours to 23, minutes and seconds
 * to 59, any character before the fraction, "Z" or an offset; what follows a second "t" is not looked at.
 */
function isDateTime(text: string): boolean {
  const [date = '', time = ''] = text.toLowerCase().split('t');
  const clock = /^(\d\d):(\d\d):(\d\d)(?:.\d+)?(?:z|[+-]\d\d:\d\d)$/.exec(time);
  if (!clock || !isCalendarDay(date)) return false;
  const [, hours = '', minutes = '', seconds = ''] = clock;
  return hours <= '23' && minutes <= '59' && seconds <= '59';
}

function isCalendarDay(date: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(date)) return false;
  const parsed = new Date(`${date}T00:00:00Z`);
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(date);
}
