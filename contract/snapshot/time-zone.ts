/** [P] Names of time zones, of the IANA database. */

export const UTC = 'UTC';

/** Whether the time zone database has this zone. */
export function isTimeZone(name: string): boolean {
  try {
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name);
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
