/**
 * [P] Converts providers' refusals of a ModelRoute's credential, address or model names, and failed connections, to
 * conditions. Proxies report each failure, but nothing reports that one was fixed, so a refusal that is not repeated
 * expires.
 */
import { REASONS } from '#crds/conditions.ts';
import type { Reason } from '#crds/conditions.ts';
import type { DesiredCondition } from './conditions.ts';
import type { Finding } from './findings.ts';

/**
 * A provider's refusal of the gateway's credential (401, 402, 403), of an address or model name (404 and others), or a
 * failed connection to it.
 */
export interface Refusal {
  readonly channel: string;
  /** The provider's HTTP status; 0 if it cannot be reached, 200 if it reports usage that calls cannot have. */
  readonly status: number;
  /** The error code of a failed connection, such as ENOTFOUND. */
  readonly connectError?: string;
  /** The provider accepts the credential again: earlier refusals of the channel are over. */
  readonly recovered?: boolean | undefined;
  readonly atMs: number;
}

/** A proxy's report that a provider refused a call, or cannot be reached. */
export interface UpstreamRefusal extends Omit<Refusal, 'atMs'> {
  /** A ModelRoute's name. */
  readonly route: string;
}

/** How long the condition lasts after the last refusal. */
export const REFUSAL_LASTS_MS = 600_000;

/** Of reports about usage. */
const IMPLAUSIBLE_STATUS = 200;
const CREDENTIAL_STATUSES: ReadonlySet<number> = new Set([401, 402, 403, 407]);

/** The latest refusal of each channel, and the latest report about its usage, without expired ones. */
export function freshRefusals(refusals: readonly Refusal[], nowMs: number): Refusal[] {
  const latest = new Map(
    refusals
      .toSorted((a, b) => a.atMs - b.atMs)
      .map((refusal) => [`${refusal.channel}${isAboutUsage(refusal) ? ' usage' : ''}`, refusal]),
  );
  return [...latest.values()].filter(({ atMs, recovered }) => nowMs - atMs < REFUSAL_LASTS_MS && recovered !== true);
}

/** Why a ModelRoute is not Ready: a provider refuses the credential of a channel, whether or not others serve. */
export function refusedCredential(refusals: readonly Refusal[]): Finding<'CredentialRefused'> | undefined {
  const refused = refusals.filter(({ status }) => CREDENTIAL_STATUSES.has(status));
  const [condition] = refusedCondition(inOrder(refused));
  return condition && { reason: 'CredentialRefused', message: condition.message };
}

/** The channels whose credential a provider refuses: calls try them last. */
export function refusedChannels(refusals: readonly Refusal[]): ReadonlySet<string> {
  return new Set(refusals.filter(({ status }) => CREDENTIAL_STATUSES.has(status)).map(({ channel }) => channel));
}

function inOrder(refusals: readonly Refusal[]): Refusal[] {
  return refusals.toSorted((a, b) => a.channel.localeCompare(b.channel, 'en'));
}

function isAboutUsage({ status }: Refusal): boolean {
  return status === IMPLAUSIBLE_STATUS;
}

/**
 * UpstreamRefused, UpstreamUnreachable and UsageImplausible for fresh refusals; empty without any. Adds CredentialReady
 * for routes that sign in.
 */
export function refusalConditions(refusals: readonly Refusal[], signsIn = false): DesiredCondition[] {
  const all = inOrder(refusals);
  const sorted = all.filter((refusal) => !isAboutUsage(refusal));
  return [
    ...refusedCondition(sorted.filter(({ connectError = '' }) => connectError === '')),
    ...(signsIn ? [signInCondition(sorted.filter(({ connectError = '' }) => connectError.startsWith(SIGN_IN)))] : []),
    ...unreachableCondition(
      sorted.filter(({ connectError = '' }) => connectError !== '' && !connectError.startsWith(SIGN_IN)),
    ),
    ...implausibleCondition(all.filter(isAboutUsage)),
  ];
}

function implausibleCondition([first, ...others]: readonly Refusal[]): DesiredCondition[] {
  if (!first) return [];
  const message =
    `Channel "${first.channel}": the provider reports more usage than calls allowed. Calls are billed up to ` +
    "the allowed usage, and you pay the difference. Compare with the provider's bill, and raise contextTokens " +
    'or imageTokens if they are too low.';
  const more = others.map(({ channel }) => `"${channel}"`);
  return [{ type: 'UsageImplausible', status: 'True', reason: 'BeyondTheRequest', message: message + likewise(more) }];
}

function refusedCondition([first, ...others]: readonly Refusal[]): DesiredCondition[] {
  if (!first) return [];
  const { reason, advice } = explainStatus(first.status);
  const more = others.map(({ channel, status }) => `"${channel}" (${status})`);
  const message = `Channel "${first.channel}": the provider responds ${advice}`;
  return [{ type: 'UpstreamRefused', status: 'True', reason, message: message + likewise(more) }];
}

function explainStatus(status: number): Advice {
  if (CREDENTIAL_STATUSES.has(status))
    return {
      reason: 'CredentialRefused',
      advice:
        `with ${status} to the credential. Check the Secret in auth and the account at the provider. Calls try ` +
        'the other channels first.',
    };
  if (status >= 300 && status < 400)
    return {
      reason: 'Redirected',
      advice:
        `with a redirect (${status}), and redirects are not followed. Set baseUrl to the address to which the ` +
        'provider redirects.',
    };
  return {
    reason: 'ModelRefused',
    advice: `with ${status}. Check baseUrl and the names of the models at the provider (models[].upstreamName).`,
  };
}

/** The prefix of the code of a failed sign-in. */
const SIGN_IN = 'SIGN_IN:';

function signInCondition([first, ...others]: readonly Refusal[]): DesiredCondition {
  if (!first) return { type: 'CredentialReady', status: 'True', reason: 'SignedIn', message: REASONS.SignedIn };
  const code = signInCode(first);
  const { reason, advice } = explainSignIn(code);
  const message = `Channel "${first.channel}" has no token for its cloud (${code}): ${advice}`;
  const more = others.map((each) => `"${each.channel}" (${signInCode(each)})`);
  return { type: 'CredentialReady', status: 'False', reason, message: message + likewise(more) };
}

function signInCode({ connectError = '' }: Refusal): string {
  return connectError.slice(SIGN_IN.length);
}

function explainSignIn(code: string): Advice {
  if (code === 'NO_IDENTITY' || code === 'NO_TOKEN_FILE')
    return {
      reason: 'IdentityMissing',
      advice: 'the pod has no identity there. Check its service account, or set a Secret in auth.secretRef.',
    };
  // codes of the network are in capital letters; HTTP_… stands for a response
  if (/^(?!HTTP_|BAD_)[A-Z][A-Z0-9_]*$/.test(code))
    return {
      reason: 'TokenUnavailable',
      advice: 'its token service cannot be reached. Check network policies and firewalls.',
    };
  return {
    reason: 'TokenRefused',
    advice: 'its token service rejects the sign-in. Check the Secret, the permissions of the identity, and auth.',
  };
}

function unreachableCondition([first, ...others]: readonly Refusal[]): DesiredCondition[] {
  if (!first) return [];
  const { connectError = '' } = first;
  const { reason, advice } = explainConnectError(connectError);
  const more = others.map((each) => `"${each.channel}" (${each.connectError})`);
  const message = `Channel "${first.channel}": the provider cannot be reached (${connectError}): ${advice}`;
  return [{ type: 'UpstreamUnreachable', status: 'True', reason, message: message + likewise(more) }];
}

function likewise(channels: readonly string[]): string {
  return channels.length === 0 ? '' : ` Likewise: ${channels.join(', ')}.`;
}

interface Advice {
  readonly reason: Reason;
  readonly advice: string;
}

const TLS_ERROR = /CERT|TLS|SSL|EPROTO|SELF_SIGNED|ISSUER|SIGNATURE/;
const NO_HOST = {
  reason: 'HostNotFound',
  advice: 'the host does not exist in DNS. Check the host in baseUrl.',
} as const;
const TIMED_OUT = {
  reason: 'ConnectTimedOut',
  advice: 'the connection timed out. Check baseUrl, network policies and firewalls.',
} as const;
const CONNECT_ADVICE: Readonly<Record<string, Advice>> = {
  ENOTFOUND: NO_HOST,
  EAI_AGAIN: {
    reason: 'HostNotFound',
    advice: 'DNS does not respond. Check the DNS of the cluster and network policies.',
  },
  ECONNREFUSED: {
    reason: 'ConnectionRefused',
    advice: 'nothing listens at this address. Check the host and port in baseUrl.',
  },
  ETIMEDOUT: TIMED_OUT,
  TIMEOUT: TIMED_OUT,
  UND_ERR_CONNECT_TIMEOUT: TIMED_OUT,
};

/** The prefix of the code of a failure of a forward proxy: then its HTTP status, or the error code of the connection. */
const PROXY_ERROR = 'PROXY_';

function explainProxyError(code: string): Advice {
  const reason = 'ForwardProxyFailed';
  if (code === '407')
    return {
      reason,
      advice:
        'the forward proxy requires a credential. Set HTTPS_PROXY, with user and password, in the environment ' +
        'of the proxies.',
    };
  if (code === 'UND_ERR_HEADERS_TIMEOUT')
    return {
      reason,
      advice:
        'the connection through the forward proxy timed out. Check that the forward proxy can reach the host in ' +
        'baseUrl.',
    };
  return /^\d+$/.test(code)
    ? {
        reason,
        advice: `the forward proxy responds with ${code}. Check its rules and its log, and the host in baseUrl.`,
      }
    : { reason, advice: 'the forward proxy cannot be reached. Check proxyUrl, or HTTPS_PROXY of the proxies.' };
}

function explainConnectError(code: string): Advice {
  if (code.startsWith(PROXY_ERROR)) return explainProxyError(code.slice(PROXY_ERROR.length));
  const known = CONNECT_ADVICE[code];
  if (known) return known;
  if (TLS_ERROR.test(code))
    return { reason: 'TlsFailed', advice: 'the TLS handshake failed. Check https in baseUrl and the certificate.' };
  return { reason: 'ConnectFailed', advice: 'the connection failed. Check baseUrl and network policies.' };
}
