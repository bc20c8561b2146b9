"""Private empirical risk minimisation: Talwar, Thakurta & Zhang 2015 and what it is compared with."""
