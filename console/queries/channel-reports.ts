/** Asks what the proxies report of their channels. */
import type { PageRequest } from '../route.ts';
import type { Reports } from './channel-health.ts';

/** If the store does not answer, the rest of the page is still shown. */
export async function readReports({ deps: { activity, log }, nowMs }: PageRequest): Promise<Reports> {
  if (!activity) return 'Missing';
  try {
    return await activity.channels(nowMs);
  } catch (error) {
    log.warn({ err: error }, 'the state of channels cannot be read');
    return 'Unavailable';
  }
}
