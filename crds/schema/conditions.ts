/**
 * The condition types of the API and the complete list of their reasons. All code that writes conditions uses this
 * table, and docs/reference/resources.md is generated from it, so that people and tools can rely on it.
 */
import { ALL_KINDS } from './kinds.ts';
import type { Kind } from './types.gen.ts';

/** Why a condition has its status. */
export const REASONS = {
  // All is well.
  Accepted: 'The object is valid and applies.',
  Programmed: 'Programmed on all connected proxies.',
  ResolvedRefs: 'All references are resolved.',
  Ready: 'Ready.',

  // Not yet.
  Pending: 'Waiting for the operator.',
  Reconciling: 'A change is being sent to the proxies.',
  NoProxies: 'No proxy is connected.',
  ProxyNotConnected:
    'Programmed on all connected proxies, but ready proxies without a connection to an operator do not have ' +
    'it; the message names them.',
  Deleting: 'The object is being deleted and no longer applies; it waits for its finalizers.',
  SecretPending: 'The Secret of the key is being created, or does not exist yet.',

  // The object itself.
  Invalid: 'A value is invalid; the message names the field.',
  WrongNamespace: 'Objects of this kind apply only in the namespace of the gateway.',
  TooManyObjects:
    'The objects of the namespace exceed the memory limit for one namespace; older objects take precedence.',
  Conflicted: 'Conflicts with an older object, which takes precedence; the message names it.',
  PartiallyConflicted:
    'Parts of the object conflict with older objects and are ignored; the message names them. The rest applies.',
  WeakKey: 'The provided key does not start with sk- or has fewer than 32 characters.',

  // What it refers to.
  GroupNotFound: 'The Group does not exist in the namespace of the gateway.',
  GroupNotAccepted: 'The Group is not Accepted.',
  NamespaceNotAllowed: "The Group's allowedNamespaces does not include this namespace.",
  AccountNotFound: 'The Account does not exist in this namespace.',
  AccountNotAccepted: 'The Account is not Accepted.',
  OtherGateway: 'A referenced object belongs to another gateway; the message names it.',
  SecretNotFound: 'A Secret does not exist.',
  SecretInvalid: 'A Secret does not have the required entry, or the value of the entry is invalid.',
  CatalogNotFound: 'A PriceCatalog does not exist or is not Accepted.',
  SecretTaken: 'The Secret exists but was not created for this key, so it is not overwritten.',
  RouteNotFound: 'A ModelRoute does not exist.',
  RouteNotAccepted: 'A ModelRoute is not Accepted.',
  ModelNotFound: 'No selected ModelRoute has a model with this name.',
  ChannelNotFound: 'No selected ModelRoute has a channel with this name.',
  MemberNotFound: 'A member Group does not exist.',
  MemberNotDirect: 'A member Group is not of type Direct.',
  MemberNotAccepted: 'A member Group is not Accepted.',

  // On the way to the proxies.
  NotAccepted: 'The object is not Accepted, so it is not sent to the proxies.',
  Rejected: 'A proxy rejected the object and continues with the last good version; the message has the reason.',

  GatewayRemoved: 'The gateway was uninstalled; no proxy serves the object until a gateway is installed again.',

  // What providers say.
  CredentialRefused: 'A provider rejects the credential of a channel; the message names the channel.',
  BeyondTheRequest:
    'A provider reports more tokens, images or seconds than calls allowed; the message names the channel.',
  ModelRefused: 'A provider does not know the model or the path; the message names the channel.',
  Redirected: 'A provider responds with a redirect, which is not followed; the message names the channel.',
  HostNotFound: 'DNS does not resolve the host of a channel.',
  ConnectionRefused: 'Nothing listens at the address of a channel.',
  ConnectTimedOut: 'The connection to the provider of a channel timed out.',
  TlsFailed: 'The TLS handshake with the provider of a channel failed.',
  ForwardProxyFailed: 'A forward proxy cannot connect to a provider; the message has the status or the error code.',
  ConnectFailed: 'The connection to the provider of a channel failed; the message has the error code.',

  SignedIn: 'No channel has recently failed to sign in.',
  TokenRefused: 'A token service rejects the sign-in of a channel; the message names the channel and the code.',
  TokenUnavailable: 'A token service cannot be reached; the message names the channel and the error code.',
  IdentityMissing: 'The pod has no identity at the cloud; the message names the channel.',

  // What ends a key's use.
  Disabled: 'spec.enabled is false.',
  Expired: 'spec.expirationTime has passed.',

  // Money.
  AboveThreshold: 'At least 80 % of the limit is spent.',
  LimitReached: 'The limit is reached.',
  AccountLimitReached: 'The credit or a limit of the Account is reached; the message says which.',
  AllChannelsDrained: 'spec.drainedChannels contains all usable channels.',
  LimitsDiffer: 'Another ModelRoute declares other limits or inputs for a model; the message names both.',
  PriceNotFound: 'Some models have no price and cannot be called; the message names them.',
} as const;

export type Reason = keyof typeof REASONS;

export interface ConditionRow {
  /** The meaning of status True. */
  readonly meaning: string;
  readonly kinds: readonly Kind[];
  readonly reasons: readonly Reason[];
  /** Present only while it is True. */
  readonly onlyWhileTrue?: true;
}

const NOT_ACCEPTED = [
  'Invalid',
  'TooManyObjects',
  'WrongNamespace',
  'Conflicted',
  'WeakKey',
  'GroupNotFound',
  'GroupNotAccepted',
  'NamespaceNotAllowed',
  'AccountNotFound',
  'AccountNotAccepted',
  'OtherGateway',
  'SecretNotFound',
  'SecretInvalid',
  'SecretTaken',
  'SecretPending',
  'RouteNotFound',
  'RouteNotAccepted',
  'ModelNotFound',
  'ChannelNotFound',
  'MemberNotFound',
  'MemberNotDirect',
  'MemberNotAccepted',
] as const;

const NOT_PROGRAMMED = [
  'NotAccepted',
  'Rejected',
  'Reconciling',
  'NoProxies',
  'ProxyNotConnected',
  'GatewayRemoved',
] as const;

/** The condition types, the kinds that have them, and the reasons each may give. */
export const CONDITIONS = {
  Accepted: {
    meaning: 'The object and its references are valid, so it applies.',
    kinds: ALL_KINDS,
    reasons: ['Accepted', 'PartiallyConflicted', 'Pending', 'Deleting', ...NOT_ACCEPTED],
  },
  Programmed: {
    meaning: 'All proxies of the fleet have applied this generation.',
    kinds: ALL_KINDS,
    reasons: ['Programmed', 'Pending', ...NOT_PROGRAMMED],
  },
  Ready: {
    meaning:
      'The object works as specified: the summary of the other conditions. If it is not True, it has the ' +
      'reason of the condition that failed.',
    kinds: ALL_KINDS,
    reasons: [
      'Ready',
      'Pending',
      'Deleting',
      ...NOT_ACCEPTED,
      ...NOT_PROGRAMMED,
      'Disabled',
      'Expired',
      'LimitReached',
      'AccountLimitReached',
      'CredentialRefused',
    ],
  },
  ResolvedRefs: {
    meaning: 'All Secrets and PriceCatalogs that the channels refer to exist and are valid.',
    kinds: ['ModelRoute'],
    reasons: ['ResolvedRefs', 'Pending', 'SecretNotFound', 'SecretInvalid', 'CatalogNotFound'],
  },
  Reconciling: {
    meaning: 'The operator is still working on the object.',
    kinds: ALL_KINDS,
    reasons: ['Pending', 'Reconciling', 'SecretPending', 'NoProxies', 'ProxyNotConnected', 'Deleting'],
    onlyWhileTrue: true,
  },
  Stalled: {
    meaning: 'The operator can make no progress until something is changed.',
    kinds: ALL_KINDS,
    reasons: [...NOT_ACCEPTED, 'Rejected', 'CredentialRefused'],
    onlyWhileTrue: true,
  },
  QuotaLow: {
    meaning: "At least 80 % of the key's limit is spent.",
    kinds: ['ApiKey'],
    reasons: ['AboveThreshold'],
    onlyWhileTrue: true,
  },
  QuotaExhausted: {
    meaning: "The key's limit is spent.",
    kinds: ['ApiKey'],
    reasons: ['LimitReached'],
    onlyWhileTrue: true,
  },
  BalanceLow: {
    meaning: "At least 80 % of the account's credit is spent.",
    kinds: ['Account'],
    reasons: ['AboveThreshold'],
    onlyWhileTrue: true,
  },
  BalanceExhausted: {
    meaning: "The account's credit is spent.",
    kinds: ['Account'],
    reasons: ['LimitReached'],
    onlyWhileTrue: true,
  },
  LimitLow: {
    meaning: 'At least 80 % of one of spec.limits is spent in its current period; the message names it.',
    kinds: ['Account'],
    reasons: ['AboveThreshold'],
    onlyWhileTrue: true,
  },
  LimitExhausted: {
    meaning: 'One of spec.limits is spent; the message says which, and when it resets.',
    kinds: ['Account'],
    reasons: ['LimitReached'],
    onlyWhileTrue: true,
  },
  UpstreamRefused: {
    meaning:
      'A provider recently rejected calls because of the credential, address or model name of a channel. ' +
      'Callers get 502 if no other channel serves them.',
    kinds: ['ModelRoute'],
    reasons: ['CredentialRefused', 'ModelRefused', 'Redirected'],
    onlyWhileTrue: true,
  },
  UpstreamUnreachable: {
    meaning:
      'Connections to a provider recently failed; the message has the error code. Callers get 502 if no other ' +
      'channel serves them.',
    kinds: ['ModelRoute'],
    reasons: [
      'HostNotFound',
      'ConnectionRefused',
      'ConnectTimedOut',
      'TlsFailed',
      'ForwardProxyFailed',
      'ConnectFailed',
    ],
    onlyWhileTrue: true,
  },
  UsageImplausible: {
    meaning:
      'A provider reported more usage than calls allowed, at least five times in ten minutes. The calls were ' +
      'billed up to the allowed usage.',
    kinds: ['ModelRoute'],
    reasons: ['BeyondTheRequest'],
    onlyWhileTrue: true,
  },
  CredentialReady: {
    meaning:
      'For routes with channels that sign in at a cloud. False means that a channel has no token and is ' +
      'skipped, until ten minutes after the last failure.',
    kinds: ['ModelRoute'],
    reasons: ['SignedIn', 'TokenRefused', 'TokenUnavailable', 'IdentityMissing'],
  },
  AllChannelsDrained: {
    meaning:
      'All usable channels of the route are drained. Its models stay listed, and callers get 503 with ' +
      'retry-after if no other route serves them.',
    kinds: ['ModelRoute'],
    reasons: ['AllChannelsDrained'],
    onlyWhileTrue: true,
  },
  LimitsDiffer: {
    meaning: 'A model of the route has other limits or inputs in another route; the message names both routes.',
    kinds: ['ModelRoute'],
    reasons: ['LimitsDiffer'],
    onlyWhileTrue: true,
  },
  UnpricedModels: {
    meaning: 'Some models of the route have no price; they are not listed and cannot be called.',
    kinds: ['ModelRoute'],
    reasons: ['PriceNotFound'],
    onlyWhileTrue: true,
  },
} as const satisfies Record<string, ConditionRow>;

export type ConditionType = keyof typeof CONDITIONS;

/** The reasons that one condition type may give. */
export type ReasonOf<T extends ConditionType> = (typeof CONDITIONS)[T]['reasons'][number];
