/** [P] Names of time zones, of the IANA database. */

export const UTC = 'UTC';

/** The time zone of a quota or a limit. Definitions of an earlier version leave the field out, with its default. */
export function timeZoneOf({ timeZone = UTC }: { readonly timeZone?: string }): string {
  return timeZone;
}

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
