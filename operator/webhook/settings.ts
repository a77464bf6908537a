/**
 * [P] Settings common to all sidecars of a gateway: a JSON value of the operator's command line, which the chart
 * writes.
 */
import { isJsonObject, parseJson } from '#crds/json.ts';
import type { EnvVar } from './pod.ts';

export interface SidecarSettings {
  readonly image: string;
  readonly imagePullPolicy?: string;
  /** The fleet's URL. */
  readonly fleet: string;
  readonly logLevel: string;
  /** True if pods have only IPv6 addresses. */
  readonly ipv6: boolean;
  /** The container's field, as in a pod. */
  readonly resources: Readonly<Record<string, unknown>>;
  readonly securityContext: Readonly<Record<string, unknown>>;
  /** Further environment variables of the sidecar. */
  readonly env: readonly EnvVar[];
}

/** The text is not a valid value; the message says why. */
export class SettingsFault extends Error {
  override readonly name = 'SettingsFault';
}

export const LOG_LEVELS: readonly string[] = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

const RESOURCES = { requests: { cpu: '10m', memory: '96Mi' }, limits: { memory: '256Mi' } };
/** As the restricted Pod Security Standard requires, whatever the pod's own context is. */
const SECURITY_CONTEXT = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
  runAsNonRoot: true,
  runAsUser: 65532,
  runAsGroup: 65532,
  seccompProfile: { type: 'RuntimeDefault' },
};
const PULL_POLICIES = ['Always', 'IfNotPresent', 'Never'];

interface Rule {
  readonly holds: (value: unknown) => boolean;
  readonly words: string;
}

/** The rule for each setting. */
const RULES: Readonly<Record<keyof SidecarSettings, Rule>> = {
  image: {
    holds: (value) => typeof value === 'string' && /^\S+$/.test(value),
    words: 'the name of the gateway image',
  },
  imagePullPolicy: {
    holds: (value) => PULL_POLICIES.includes(String(value)),
    words: `one of ${PULL_POLICIES.join(', ')}`,
  },
  fleet: {
    holds: (value) => typeof value === 'string' && URL.canParse(value) && value.startsWith('https://'),
    words: 'an https URL',
  },
  logLevel: { holds: (value) => LOG_LEVELS.includes(String(value)), words: `one of ${LOG_LEVELS.join(', ')}` },
  ipv6: { holds: (value) => typeof value === 'boolean', words: 'true or false' },
  resources: { holds: isJsonObject, words: 'an object, as in a pod' },
  securityContext: { holds: isJsonObject, words: 'an object, as in a pod' },
  env: { holds: (value) => Array.isArray(value) && value.every(isEnvVar), words: 'a list of {name, value}' },
};

/** Throws SettingsFault. `defaults.fleet` is the fleet's URL if the text has none. */
export function parseSidecarSettings(text: string, defaults: { readonly fleet: string }): SidecarSettings {
  const given = objectOf(text);
  for (const [name, value] of Object.entries(given)) {
    if (!isSetting(name))
      throw new SettingsFault(`unknown setting ${name}; known settings are ${Object.keys(RULES).join(', ')}`);
    if (!RULES[name].holds(value)) throw new SettingsFault(`${name} must be ${RULES[name].words}`);
  }
  if (given['image'] === undefined) throw new SettingsFault('image is required: the name of the gateway image');
  const settings: unknown = {
    logLevel: 'warn',
    ipv6: false,
    resources: RESOURCES,
    securityContext: SECURITY_CONTEXT,
    env: [],
    ...defaults,
    ...given,
  };
  return asSettings(settings);
}

/** Narrows the type; every field has passed its rule. */
function asSettings(settings: unknown): SidecarSettings {
  if (isSettings(settings)) return settings;
  throw new SettingsFault('a setting is missing');
}

function isSettings(value: unknown): value is SidecarSettings {
  return (
    isJsonObject(value) && Object.entries(value).every(([name, each]) => isSetting(name) && RULES[name].holds(each))
  );
}

function isSetting(name: string): name is keyof SidecarSettings {
  return Object.hasOwn(RULES, name);
}

function objectOf(text: string): Readonly<Record<string, unknown>> {
  const value = parseJson(text);
  if (!isJsonObject(value))
    throw new SettingsFault('it must be a JSON object, such as {"image": "model-gateway:0.1.0"}');
  return value;
}

function isEnvVar(value: unknown): value is EnvVar {
  return isJsonObject(value) && typeof value['name'] === 'string';
}
