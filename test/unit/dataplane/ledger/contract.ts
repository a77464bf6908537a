/** The contract of every ledger, as tests: called with a function that opens one, independent of its storage. */
import { describe, test } from 'vitest';
import { testClock } from './calls.ts';
import { conversationScenarios } from './contract-conversations.ts';
import { endScenarios } from './contract-ends.ts';
import { jobScenarios } from './contract-jobs.ts';
import { minuteScenarios } from './contract-minutes.ts';
import { holdScenarios, settleScenarios } from './contract-money.ts';
import { periodScenarios } from './contract-periods.ts';
import { readerScenarios, slotScenarios } from './contract-reading.ts';
import type { OpenLedger, Scenario } from './contract-scenario.ts';
import { windowScenarios } from './contract-windows.ts';

/** Runs the suite on one kind of ledger. */
export function ledgerContract(name: string, open: OpenLedger): void {
  const scenario = (title: string, body: Scenario): void => {
    test(title, async () => {
      const clock = testClock();
      const subject = await open(clock);
      try {
        await body(subject, clock);
      } finally {
        await subject.close();
      }
    });
  };
  describe(`${name}: holds`, () => holdScenarios(scenario));
  describe(`${name}: settlements`, () => settleScenarios(scenario));
  describe(`${name}: periods`, () => periodScenarios(scenario));
  describe(`${name}: windows`, () => windowScenarios(scenario));
  describe(`${name}: slots`, () => slotScenarios(scenario));
  describe(`${name}: limits by the minute`, () => minuteScenarios(scenario));
  describe(`${name}: readers`, () => readerScenarios(scenario));
  describe(`${name}: jobs`, () => jobScenarios(scenario));
  describe(`${name}: conversations`, () => conversationScenarios(scenario));
  describe(`${name}: the end of a process`, () => endScenarios(scenario));
}
