/**
 * A time zone in which days are short, so that calls cross the edges of days, weeks and months while a round runs. A
 * process that imports this has it, under the name of a real zone that nobody else here uses; its clock stays as it is.
 */
export const FAST_ZONE = 'Antarctica/Troll';
export const FAST_DAY_MS = 20_000;

const DAY_MS = 86_400_000;
const SPEED = DAY_MS / FAST_DAY_MS;
/** A Monday and the first of a month in both kinds of time; later dates stay in the range of Temporal. */
const ORIGIN_MS = Date.UTC(2026, 5, 1);

const instants = Temporal.Instant.prototype;
const dates = Temporal.PlainDate.prototype;
// oxlint-disable-next-line typescript/unbound-method
const [zonedInstant, zonedDate] = [instants.toZonedDateTimeISO, dates.toZonedDateTime];

instants.toZonedDateTimeISO = function inZone(this: Temporal.Instant, zone) {
  if (zone !== FAST_ZONE) return zonedInstant.call(this, zone);
  const fastMs = ORIGIN_MS + (this.epochMilliseconds - ORIGIN_MS) * SPEED;
  return zonedInstant.call(Temporal.Instant.fromEpochMilliseconds(fastMs), 'UTC');
};
dates.toZonedDateTime = function inZone(this: Temporal.PlainDate, zone: unknown) {
  if (zone !== FAST_ZONE) return zonedDate.call(this, zone as Temporal.PlainDateToZonedDateTimeOptions);
  const fastMs = zonedDate.call(this, { timeZone: 'UTC' }).epochMilliseconds;
  const realMs = ORIGIN_MS + (fastMs - ORIGIN_MS) / SPEED;
  return zonedInstant.call(Temporal.Instant.fromEpochMilliseconds(realMs), 'UTC');
};
