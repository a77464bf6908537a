/**
 * [P] A snapshot that may be shown: secrets are replaced, and int64 figures are decimal strings, because JSON has no
 * 64-bit integers.
 */
import type { Snapshot } from './snapshot.gen.ts';

const REDACTED = '[redacted]';

/** JSON of a snapshot without its secrets, for /config_dump. */
export function redactSnapshot(snapshot: Snapshot): unknown {
  return {
    keys: plain(snapshot.keys),
    accounts: plain(snapshot.accounts),
    groups: plain(snapshot.groups),
    routes: snapshot.routes.map((route) => ({
      ...fields(route),
      sealing: route.sealing && REDACTED,
      channels: route.channels.map((channel) => ({
        ...fields({ ...channel, baseUrl: withoutQuery(channel.baseUrl) }),
        apiKey: channel.apiKey && REDACTED,
        ...(channel.signIn && {
          signIn: { ...fields(channel.signIn), credential: channel.signIn.credential && REDACTED },
        }),
      })),
    })),
    catalogs: plain(snapshot.catalogs),
  };
}

/** Removes the query, in which some providers expect the key. */
function withoutQuery(baseUrl: string): string {
  const start = baseUrl.indexOf('?');
  return start < 0 ? baseUrl : `${baseUrl.slice(0, start)}?${REDACTED}`;
}

function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === 'object' && value !== null) return fields(value);
  return value;
}

function fields(object: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, plain(value)]));
}
