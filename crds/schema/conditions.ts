/**
 * The condition types of the API and the complete list of their reasons. All code that writes conditions uses this
 * table, and docs/reference/resources.md is generated from it, so that people and tools can rely on it.
 */
import { ALL_KINDS } from './kinds.ts';
import type { Kind } from './types.gen.ts';

/** Why a condition has its status. */
export const REASONS = {
  // All is well.
  Accepted: 'The object is valid and counts.',
  Programmed: 'All connected proxies have it in force.',
  ResolvedRefs: 'Everything that it refers to was found.',
  Ready: 'It does what its spec says.',

  // Not yet.
  Pending: 'It has not been looked at yet.',
  Reconciling: 'A change is on its way to the proxies.',
  NoProxies: 'No proxy is connected that could have it in force.',
  ProxyNotConnected:
    'All connected proxies have it in force, but ready ones that are connected to no operator do not; the message names ' +
    'them.',
  Deleting: 'It is being deleted and is no longer in force; it waits for its finalizers.',
  SecretPending: "The key's Secret is about to be made, or is waited for.",

  // The object itself.
  Invalid: 'A value is not valid; the message names the field.',
  WrongNamespace: "Objects of this kind count only in the gateway's own namespace.",
  TooManyObjects: "The namespace's objects take more memory than the operator gives to one; older objects go first.",
  Conflicted: 'An older object claims the same thing; the message names it.',
  PartiallyConflicted:
    'Older objects claim a part of it, which is left out; the message names them. The rest is in force.',
  WeakKey: 'The provided key does not begin with sk- or has fewer than 32 characters.',

  // What it refers to.
  GroupNotFound: "The Group does not exist in the gateway's namespace.",
  GroupNotAccepted: 'The Group is not Accepted itself.',
  NamespaceNotAllowed: "The Group's allowedNamespaces does not admit this namespace.",
  AccountNotFound: 'The Account does not exist in this namespace.',
  AccountNotAccepted: 'The Account is not Accepted itself.',
  OtherGateway: 'What it refers to belongs to another gateway; the message names it.',
  SecretNotFound: 'A Secret does not exist.',
  SecretInvalid: 'A Secret lacks the entry that is needed, or its value cannot be used.',
  CatalogNotFound: 'A PriceCatalog does not exist or is not Accepted itself.',
  SecretTaken: 'The Secret exists, but was not made for this key, and is therefore not overwritten.',
  RouteNotFound: 'A ModelRoute does not exist.',
  RouteNotAccepted: 'A ModelRoute is not Accepted itself.',
  ModelNotFound: 'None of the ModelRoutes in question has a model of this name.',
  ChannelNotFound: 'None of the ModelRoutes in question has a channel of this name.',
  MemberNotFound: 'A member Group does not exist.',
  MemberNotDirect: 'A member Group is not of type Direct.',
  MemberNotAccepted: 'A member Group is not Accepted itself.',

  // On the way to the proxies.
  NotAccepted: 'It is not Accepted and therefore not given to the proxies.',
  Rejected: 'A proxy refused it and goes on with the last good state; the message has its words.',

  GatewayRemoved: 'The gateway was uninstalled; no proxy serves it until one is installed again.',

  GatewaySilent: 'No operator of the gateway has confirmed the status for a day, so nobody knows whether it is true.',

  // What providers say.
  CredentialRefused: "A provider refuses the gateway's credential; the message names the channel.",
  BeyondTheRequest:
    'A provider reports more tokens, images or seconds than calls allow; the message names the channel.',
  ModelRefused: 'A provider knows no such model or path; the message names the channel.',
  Redirected: 'A provider answers with a redirect, which is not followed; the message names the channel.',
  HostNotFound: "DNS does not resolve a channel's host.",
  ConnectionRefused: "Nothing listens at a channel's address.",
  ConnectTimedOut: "A connection to a channel's provider was not made in time.",
  TlsFailed: "The TLS handshake with a channel's provider failed.",
  ForwardProxyFailed:
    'A forward proxy makes no connection to a provider; the message has its status or the error code.',
  ConnectFailed: "A connection to a channel's provider failed; the message has the error code.",

  SignedIn: 'No sign-in of a channel has failed lately.',
  TokenRefused: "A token service refuses the gateway's sign-in; the message names the channel and the code.",
  TokenUnavailable: 'A token service cannot be reached; the message names the channel and the error code.',
  IdentityMissing: 'The pod has no identity of its own at the cloud; the message names the channel.',

  // What ends a key's use.
  Disabled: 'spec.enabled is false.',
  Expired: 'spec.expirationTime has passed.',

  // Money.
  AboveThreshold: 'At least 80 % is spent.',
  LimitReached: 'All of it is spent.',
  AllChannelsDrained: 'spec.drainedChannels names every channel that could serve.',
  LimitsDiffer: 'Another ModelRoute offers a model with other limits or inputs; the message names both.',
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
  'GatewaySilent',
] as const;

/** The condition types, the kinds that have them, and the reasons each may give. */
export const CONDITIONS = {
  Accepted: {
    meaning: 'The object is valid, and what it refers to lets it count.',
    kinds: ALL_KINDS,
    reasons: ['Accepted', 'PartiallyConflicted', 'Pending', 'Deleting', ...NOT_ACCEPTED],
  },
  Programmed: {
    meaning: 'All proxies of the fleet have this generation in force.',
    kinds: ALL_KINDS,
    reasons: ['Programmed', 'Pending', ...NOT_PROGRAMMED],
  },
  Ready: {
    meaning:
      'It does what its spec says; the sum of the others. When it is not True, its reason is that of the ' +
      'condition at fault.',
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
      'CredentialRefused',
    ],
  },
  ResolvedRefs: {
    meaning: 'Every Secret and PriceCatalog that its channels name was found and can be used.',
    kinds: ['ModelRoute'],
    reasons: ['ResolvedRefs', 'Pending', 'SecretNotFound', 'SecretInvalid', 'CatalogNotFound'],
  },
  Reconciling: {
    meaning: 'The gateway is still working on it.',
    kinds: ALL_KINDS,
    reasons: ['Pending', 'Reconciling', 'SecretPending', 'NoProxies', 'ProxyNotConnected', 'Deleting'],
    onlyWhileTrue: true,
  },
  Stalled: {
    meaning: 'It stays as it is until somebody changes something.',
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
    meaning: 'One of spec.limits is spent; the message says which, and when it starts anew.',
    kinds: ['Account'],
    reasons: ['LimitReached'],
    onlyWhileTrue: true,
  },
  UpstreamRefused: {
    meaning:
      'A provider refused calls lately for what the route gives it: its credential, address or model name. ' +
      'Callers get 502 where no other channel serves them.',
    kinds: ['ModelRoute'],
    reasons: ['CredentialRefused', 'ModelRefused', 'Redirected'],
    onlyWhileTrue: true,
  },
  UpstreamUnreachable: {
    meaning:
      'Connections to a provider failed lately; the message has the error code. Callers get 502 where no ' +
      'other channel serves them.',
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
      'A provider reported more usage than calls allow, at least five times in ten minutes. The calls were billed up ' +
      'to what was allowed.',
    kinds: ['ModelRoute'],
    reasons: ['BeyondTheRequest'],
    onlyWhileTrue: true,
  },
  CredentialReady: {
    meaning:
      'On routes with channels that sign in at a cloud. False: a channel has no token and is passed over; it ' +
      'lasts for ten minutes after the last failure.',
    kinds: ['ModelRoute'],
    reasons: ['SignedIn', 'TokenRefused', 'TokenUnavailable', 'IdentityMissing'],
  },
  AllChannelsDrained: {
    meaning:
      "All of the route's usable channels are drained. Its models stay listed, and callers get 503 with retry-after " +
      'where no other route serves them.',
    kinds: ['ModelRoute'],
    reasons: ['AllChannelsDrained'],
    onlyWhileTrue: true,
  },
  LimitsDiffer: {
    meaning: 'A model of the route has other limits or inputs in another route; the message says which count.',
    kinds: ['ModelRoute'],
    reasons: ['LimitsDiffer'],
    onlyWhileTrue: true,
  },
  UnpricedModels: {
    meaning: "Some of the route's models have no price; they are not listed and cannot be called.",
    kinds: ['ModelRoute'],
    reasons: ['PriceNotFound'],
    onlyWhileTrue: true,
  },
} as const satisfies Record<string, ConditionRow>;

export type ConditionType = keyof typeof CONDITIONS;

/** The reasons that one condition type may give. */
export type ReasonOf<T extends ConditionType> = (typeof CONDITIONS)[T]['reasons'][number];
