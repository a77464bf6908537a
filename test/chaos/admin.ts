/** What a gateway's page of metrics says. */
import type { GatewayProcess } from '../support/api/process.ts';

/** A process that is not stopped answers sooner. */
export const ANSWER_MS = 10_000;

export async function metricsOf({ adminUrl }: GatewayProcess, timeoutMs = ANSWER_MS): Promise<string> {
  return (await fetch(`${adminUrl}/metrics`, { signal: AbortSignal.timeout(timeoutMs) })).text();
}

/** The generation of the configuration in force; undefined if the process does not answer in so many milliseconds. */
export async function generationOf(process: GatewayProcess, timeoutMs: number): Promise<string | undefined> {
  try {
    return /^modelgateway_config_generation (\S+)/m.exec(await metricsOf(process, timeoutMs))?.[1];
  } catch {
    return undefined;
  }
}

/** The checks of a process that fail, whether or not it stays ready without them. */
export async function failingChecks({ adminUrl }: GatewayProcess): Promise<string[]> {
  const response = await fetch(`${adminUrl}/readyz`, { signal: AbortSignal.timeout(ANSWER_MS) });
  const { not_ready = [], degraded = [] } = (await response.json()) as ReadinessPage;
  return [...not_ready, ...degraded].map(({ name, detail }) => `${name} fails: ${detail}`);
}

interface ReadinessPage {
  readonly not_ready?: readonly FailingCheck[];
  readonly degraded?: readonly FailingCheck[];
}

interface FailingCheck {
  readonly name: string;
  readonly detail: string;
}

/** Sums a metric over all its label sets. */
export function sumOfMetric(page: string, name: string): number {
  const lines = [...page.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))];
  if (lines.length === 0) throw new Error(`there is no metric ${name}`);
  return lines.reduce((sum, [, value]) => sum + Number(value), 0);
}
