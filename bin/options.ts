/** Parses values of flags and environment variables. Error messages say what is expected. */
import { InvalidArgumentError, Option } from 'commander';
import { isIP } from 'node:net';
import { isValkeyUrl, parseValkeyUrl } from '../dataplane/ledger/valkey/location.ts';
import type { ListenAddress } from '../dataplane/listen.ts';
import type { LedgerLocation } from '../programs/ledger-location.ts';
import { DEFAULT_GATEWAY_NAMESPACE } from './defaults.ts';

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
};
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];
const MAX_DAYS = 3650;
const MAX_SECONDS = 86_400;
const MAX_BODY_BYTES = 2 ** 30;

/** A flag with its environment variable: `--max-body` is MGW_MAX_BODY. */
export function flag(flags: string, description: string): Option {
  const option = new Option(flags, description);
  return option.env(`MGW_${option.name().replaceAll('-', '_').toUpperCase()}`);
}

/** --log-level. */
export function logLevelFlag(): Option {
  return flag('--log-level <LEVEL>', 'minimum level of log lines').choices(LOG_LEVELS).default('info');
}

/** --admin of a server; a sidecar has its own. */
export function adminFlag(): Option {
  return flag('--admin <ADDRESS>', 'address for healthz, readyz, metrics and config_dump; keep it private')
    .default({ host: '127.0.0.1', port: 9090 }, '127.0.0.1:9090')
    .argParser(parseAddress);
}

/** --gateway-namespace of a folder of manifests. */
export function gatewayNamespaceFlag(): Option {
  return flag('--gateway-namespace <NAME>', 'namespace of the gateway, and of objects without a namespace')
    .default(DEFAULT_GATEWAY_NAMESPACE)
    .argParser(parseNamespace);
}

/** --kubeconfig. */
export function kubeconfigFlag(): Option {
  return flag(
    '--kubeconfig <FILE>',
    'kubeconfig file (default: the ServiceAccount of the pod, or the kubeconfig of kubectl)',
  );
}

/** --usage-labels. */
export function usageLabelsFlag(): Option {
  return flag(
    '--usage-labels <NAMES>',
    'comma-separated labels to copy into usage records, from the namespace or else from the ApiKey ' +
      '(default: none)',
  ).argParser(parseLabelNames);
}

/** --console-trusted-proxies. */
export function trustedProxiesFlag(): Option {
  return flag(
    '--console-trusted-proxies <CIDRS>',
    'comma-separated addresses and CIDR ranges of the proxies in front of the console, such as ' +
      '10.0.0.0/8,fd00::/8; X-Forwarded-For is trusted only from these (default: none)',
  ).argParser(parseCidrs);
}

/** Parses addresses and CIDR ranges, separated by commas. */
export function parseCidrs(text: string): readonly string[] {
  const ranges = text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
  const wrong = ranges.find((each) => !isRange(each));
  if (wrong === undefined && ranges.length > 0) return ranges;
  throw new InvalidArgumentError(
    `"${wrong ?? text}" is not an address or a CIDR range, such as 10.1.2.3 or 10.0.0.0/8.`,
  );
}

function isRange(text: string): boolean {
  const [, address = '', bits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const family = isIP(address);
  return family > 0 && Number(bits ?? 1) >= 1 && Number(bits ?? 1) <= (family === 4 ? 32 : 128);
}

/** For descriptions: what stops a program that serves calls. */
export const STOP_SIGNALS =
  'On SIGTERM or SIGINT, running calls complete and the exit code is 0; a second signal exits at once with 1.';
/** For descriptions of commands whose flags all are made by `flag`. */
export const EACH_FLAG = 'Each flag can also be set by its environment variable.';

/** Joins the paragraphs of a command's description, which commander wraps. */
export function paragraphs(...texts: readonly string[]): string {
  return texts.join('\n\n');
}

/** Parses "host:port", "[::1]:port", or ":port" for all interfaces. */
export function parseAddress(text: string): ListenAddress {
  const [, bracketed, plain, digits] = /^(?:\[([0-9a-f:.]+)\]|([^\s:[\]]*)):(\d{1,5})$/i.exec(text) ?? [];
  const port = Number(digits);
  if (digits === undefined || port > 65_535)
    throw new InvalidArgumentError(
      'It must be an address such as 127.0.0.1:8080, [::1]:8080, or :8080 for all interfaces.',
    );
  return { host: bracketed ?? (plain || '0.0.0.0'), port };
}

/** Parses the first of four ports. */
export function parseFirstPort(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port < 1 || port > 65_532)
    throw new InvalidArgumentError('It must be a port from 1 to 65532, such as 9080.');
  return port;
}

/** Parses an address, or "off" to false. */
export function parseConsole(text: string): ListenAddress | false {
  return /^off$/i.test(text) ? false : parseAddress(text);
}

/** Parses a server's origin, such as "https://gateway.example". */
export function parseOrigin(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (
    !url ||
    !/^https?:$/.test(url.protocol) ||
    url.pathname !== '/' ||
    url.search !== '' ||
    url.hash !== '' ||
    url.username !== ''
  )
    throw new InvalidArgumentError(
      'It must be an http or https URL with a host and no path, such as https://gateway.example.',
    );
  return url.origin;
}

/** Parses the URL of the console, which may have a path, and returns it without a slash at the end. */
export function parseConsoleUrl(text: string): string {
  const url = URL.parse(text);
  if (!url || url.href !== url.origin + url.pathname || !/^https?:\/\/[^/]+(?:\/[\w.~-]+)*\/?$/.test(url.href))
    throw new InvalidArgumentError(
      'It must be an http or https URL with a host and an optional path of letters, digits, ".", "_", "~" and ' +
        '"-", such as https://gateway.example/llm/console.',
    );
  return url.href.replace(/\/$/, '');
}

/** Parses one or more "host:port", separated by commas, and appends them to those of earlier flags. */
export function parseHostPorts(text: string, earlier: readonly string[] = []): readonly string[] {
  const addresses = text.split(',').map((each) => each.trim());
  const wrong = addresses.find((each) => !/^(?:\[[0-9a-f:.]+\]|[^\s:[\]/]+):\d{1,5}$/i.test(each));
  if (wrong !== undefined)
    throw new InvalidArgumentError(
      `"${wrong}" is not HOST:PORT, such as model-gateway-operator.model-gateway.svc:18000.`,
    );
  return [...earlier, ...addresses];
}

/** Parses origins such as https://app.example, separated by commas, or `*`. */
export function parseOrigins(text: string): readonly string[] {
  const origins = text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
  const wrong = origins.find((each) => each !== '*' && URL.parse(each)?.origin !== each);
  if (wrong !== undefined)
    throw new InvalidArgumentError(
      `"${wrong}" is not an origin: a scheme, a host and an optional port, such as https://app.example.`,
    );
  return origins;
}

/** True if a "host:port" is on this machine. */
export function isLoopback(hostPort: string): boolean {
  return /^(?:127\.\d+\.\d+\.\d+|\[::1\]|localhost):\d+$/.test(hostPort);
}

/** Parses a number of bytes, plain or with a unit: 67108864, 64MiB, 10MB. */
export function parseBytes(text: string): number {
  const [, digits, unit = ''] = /^(\d{1,10})\s*([kmg]?i?b)?$/i.exec(text.trim()) ?? [];
  const bytes = Number(digits) * (UNITS[unit.toLowerCase()] ?? Number.NaN);
  if (!(bytes >= 1 && bytes <= MAX_BODY_BYTES))
    throw new InvalidArgumentError('It must be a size such as 64MiB or 10000000, at most 1GiB.');
  return bytes;
}

/** Parses whole seconds, at most a day. */
export function parseSeconds(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > MAX_SECONDS)
    throw new InvalidArgumentError('It must be a number of seconds, at most 86400.');
  return Number(text);
}

/** Parses whole days, at most ten years. */
export function parseDays(text: string): number {
  if (!/^\d{1,4}$/.test(text) || Number(text) > MAX_DAYS)
    throw new InvalidArgumentError(`It must be a number of days, at most ${MAX_DAYS}.`);
  return Number(text);
}

/** Parses a whole number from 1 to a million. */
export function parseCount(text: string): number {
  if (!/^[1-9]\d{0,5}$|^1000000$/.test(text)) throw new InvalidArgumentError('It must be a whole number, at least 1.');
  return Number(text);
}

/** Parses "file:PATH" or "valkey://HOST:PORT". */
export function parseLedger(text: string): LedgerLocation {
  const path = /^file:(?:\/\/(?=\/))?(.+)$/.exec(text)?.[1];
  if (path !== undefined) return { kind: 'file', path };
  if (!isValkeyUrl(text))
    throw new InvalidArgumentError('It must be file:PATH, valkey://HOST:PORT or valkeys://USER:PASSWORD@HOST:PORT.');
  try {
    parseValkeyUrl(text);
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
  return { kind: 'valkey', url: text };
}

/** Parses the name of a Kubernetes namespace. */
export function parseNamespace(text: string): string {
  if (!/^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/.test(text))
    throw new InvalidArgumentError(
      'It must be the name of a namespace: at most 63 lower-case letters, digits and hyphens.',
    );
  return text;
}

/** Parses names of namespaces, separated by commas. */
export function parseNamespaces(text: string): string[] {
  return text.split(',').map((name) => parseNamespace(name.trim()));
}

const MAX_USAGE_LABELS = 8;
const LABEL_NAME = /^(?:[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?$/;

/** Parses names of labels, separated by commas. */
export function parseLabelNames(text: string): string[] {
  const names = text.split(',').map((name) => name.trim());
  const wrong = names.find((name) => !LABEL_NAME.test(name));
  if (wrong !== undefined)
    throw new InvalidArgumentError(`"${wrong}" is not the name of a label, such as cost-center or example.com/team.`);
  if (names.length > MAX_USAGE_LABELS)
    throw new InvalidArgumentError(`At most ${MAX_USAGE_LABELS} labels are allowed, not ${names.length}.`);
  return [...new Set(names)];
}

/** Parses names of ServiceAccounts, separated by commas. */
export function parseServiceAccounts(text: string): string[] {
  const names = text.split(',').map((name) => name.trim());
  const wrong = names.find((name) => name.length > 253 || !/^[a-z0-9](?:[-.a-z0-9]*[a-z0-9])?$/.test(name));
  if (wrong !== undefined)
    throw new InvalidArgumentError(`"${wrong}" is not the name of a ServiceAccount, such as model-gateway-dataplane.`);
  return names;
}

/** Formats an address, with brackets around an IPv6 host. */
export function formatAddress({ host, port }: ListenAddress): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The URL at which a browser on this machine reaches the address. */
export function urlOf({ host, port }: ListenAddress): string {
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${formatAddress({ host: reachable, port })}`;
}

/**
 * The environment without variables that count as not set: empty ones, and switches that are turned off
 * (MGW_HELLO=false), because commander would treat any value as true.
 */
export function withoutUnset(env: NodeJS.ProcessEnv, switches: readonly string[]): NodeJS.ProcessEnv {
  const isUnset = (name: string, value: string | undefined): boolean =>
    name.startsWith('MGW_') && (value === '' || (switches.includes(name) && /^(?:false|no|off|0)$/i.test(value ?? '')));
  return Object.fromEntries(Object.entries(env).filter(([name, value]) => !isUnset(name, value)));
}
