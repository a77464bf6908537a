/** What happened to the gateways in a round besides calls: versions of the configuration, kills, pauses and drains. */
import type { Config } from './config.ts';

/** Milliseconds since the epoch throughout. */
export interface Version {
  readonly config: Config;
  readonly writtenMs: number;
  /** Infinity: not yet. An edit is in force once every member has it, also those that stood still. */
  inForceMs: number;
}

export interface Span {
  readonly fromMs: number;
  toMs: number;
}

/** A fault of one member, or of the store where it has no member. */
export interface Pause extends Span {
  readonly member: number | undefined;
}

export interface Happened {
  readonly versions: Version[];
  /** When a process was killed, or may have been taken for dead. */
  readonly kills: number[];
  /** When a member stood still or was not there, or something that it needs. */
  readonly pauses: Pause[];
  /** When a member was told to end, until it had. */
  readonly drains: Span[];
  /** What must never happen. */
  readonly violations: string[];
}

/** Whether a gateway was killed, stood still, or was told to end. */
export function isDisturbed({ kills, pauses, drains }: Happened): boolean {
  return kills.length + pauses.length + drains.length > 0;
}

export function nothingSince(version: Version): Happened {
  return { versions: [version], kills: [], pauses: [], drains: [], violations: [] };
}
