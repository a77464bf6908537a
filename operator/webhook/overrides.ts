/** [P] Reads a pod's annotations about its own sidecar, `modelgateway.dev/sidecar-…`, or reports every mistake. */
import { OVERRIDE_PREFIX } from './pod.ts';
import type { StringMap } from './pod.ts';
import { LOG_LEVELS } from './settings.ts';

export interface Overrides {
  readonly port: number;
  readonly adminPort: number;
  readonly logLevel: string | undefined;
  /** Quantities by resource, for example cpu. */
  readonly requests: StringMap;
  readonly limits: StringMap;
}

type OverridesResult = { readonly overrides: Overrides } | { readonly problems: readonly string[] };

const DEFAULT_PORT = 4000;
const DEFAULT_ADMIN_PORT = 4001;
const QUANTITY = /^(?:\d{1,15}|\d{1,12}\.\d{1,3})(?:m|[kMGTP]|[KMGTP]i)?$/;

/** The rule for the text of each override. */
const RULES: Readonly<Record<string, { readonly holds: (text: string) => boolean; readonly words: string }>> = {
  port: { holds: isPort, words: 'must be a port from 1024 to 65535' },
  'admin-port': { holds: isPort, words: 'must be a port from 1024 to 65535' },
  'log-level': { holds: (text) => LOG_LEVELS.includes(text), words: `must be one of ${LOG_LEVELS.join(', ')}` },
  'cpu-request': { holds: isQuantity, words: 'must be a quantity such as 50m' },
  'memory-request': { holds: isQuantity, words: 'must be a quantity such as 64Mi' },
  'cpu-limit': { holds: isQuantity, words: 'must be a quantity such as 500m' },
  'memory-limit': { holds: isQuantity, words: 'must be a quantity such as 256Mi' },
};

/** Annotations with other prefixes are ignored. */
export function readOverrides(annotations: StringMap): OverridesResult {
  const given = new Map(
    Object.entries(annotations).flatMap(([name, text]) =>
      name.startsWith(OVERRIDE_PREFIX) ? [[name.slice(OVERRIDE_PREFIX.length), text] as const] : [],
    ),
  );
  const problems = [...given].flatMap(([name, text]) => {
    // an annotation may be named like a property of every object, such as constructor
    const rule = Object.hasOwn(RULES, name) ? RULES[name] : undefined;
    if (!rule)
      return [
        `unknown annotation ${OVERRIDE_PREFIX}${name}; known annotations are ` +
          Object.keys(RULES)
            .map((known) => `${OVERRIDE_PREFIX}${known}`)
            .join(', '),
      ];
    return rule.holds(text) ? [] : [`the annotation ${OVERRIDE_PREFIX}${name} ${rule.words}`];
  });
  const port = Number(given.get('port') ?? DEFAULT_PORT);
  const adminPort = Number(given.get('admin-port') ?? DEFAULT_ADMIN_PORT);
  if (port === adminPort)
    problems.push(
      `${OVERRIDE_PREFIX}port and ${OVERRIDE_PREFIX}admin-port must differ; they ` +
        `are ${DEFAULT_PORT} and ${DEFAULT_ADMIN_PORT} by default`,
    );
  if (problems.length > 0) return { problems };
  return {
    overrides: {
      port,
      adminPort,
      logLevel: given.get('log-level'),
      requests: quantities(given, 'request'),
      limits: quantities(given, 'limit'),
    },
  };
}

function quantities(given: ReadonlyMap<string, string>, of: 'request' | 'limit'): StringMap {
  return Object.fromEntries(
    ['cpu', 'memory'].flatMap((resource) => {
      const text = given.get(`${resource}-${of}`);
      return text === undefined ? [] : [[resource, text] as const];
    }),
  );
}

function isPort(text: string): boolean {
  return /^\d{4,5}$/.test(text) && Number(text) >= 1024 && Number(text) <= 65_535;
}

function isQuantity(text: string): boolean {
  return QUANTITY.test(text) && Number.parseFloat(text) > 0;
}
