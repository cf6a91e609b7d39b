"""Publish the mean income of 1,000 people, of whom half, secretly drawn, are in the sample."""

import numpy as np

import rpac
from rpac.plots import noise_against_budget

BUDGET = 0.25


def main() -> None:
    """Release one mean, save its certificate, and draw noise against budget."""
    incomes = np.random.default_rng(7).lognormal(10.3, 0.7, size=1_000)
    people = rpac.Subsets(incomes, worlds=512)

    release = rpac.privatize(np.mean, people, budget=rpac.Nats(BUDGET))
    print(release)
    release.certificate.save("demo-certificate.json")
    assert rpac.Certificate.load("demo-certificate.json") == release.certificate

    outputs = rpac.simulate(people, np.mean)
    budgets = [1 / 128, 1 / 32, 1 / 8, 0.25, 0.5, 1, 2, 4]
    scales = {
        method: [float(np.sqrt(noise.power)) for noise in rpac.curve(outputs, budgets, method)]
        for method in ("efficient-pac", "auto-pac", "equilibrium")
    }
    figure = noise_against_budget(
        budgets, scales, signal=float(outputs.values.std()), chosen=BUDGET
    )
    figure.savefig("demo-noise.png", dpi=150)
    print("\nwrote demo-certificate.json and demo-noise.png")


if __name__ == "__main__":
    main()
